// A host for the tests of the page: tracks each line of standard input, and keeps the events.
//
//     InspectorHost DIR
//
// A line is an event as a store keeps it, or `burst COUNT`. Each is answered with a line.

import Foundation
import Sluice
import SluiceHTTP
import SluiceJSONL

let pipeline = try Pipeline(delivery: DeliveryPolicy(flushCount: .max, flushInterval: .seconds(86_400))) {
    JSONLStore(at: CommandLine.arguments[1], capacity: 1 << 31)
    // Nothing listens there.
    HTTPTransport(to: "http://127.0.0.1:9/")
}
while let line = readLine() {
    if line.hasPrefix("burst ") {
        for number in 0..<(Int(line.dropFirst(6)) ?? 0) { pipeline.track("Burst", ["number": number]) }
    } else {
        let isCritical = line.contains(#","priority":"critical""#)
        let event = try EventLine(bytes: Array(line.utf8)[...], priority: isCritical ? .critical : .normal).event()
        pipeline.track(event.name, event.properties, priority: event.priority) { $0.distinctID = event.distinctID }
    }
    FileHandle.standardOutput.write(Data("done\n".utf8))
}
await pipeline.shutdown(deadline: .zero)
