// A host for the tests of the page: tracks each line of standard input, and keeps the events.
//
//     InspectorHost DIR [URL [NAME…]]
//
// A line is an event as a store keeps it, or `burst COUNT`. Each is answered with a line. Without a URL, events wait. Each
// further name is a route whose events wait.

import Foundation
import SluiceHTTP
import SluiceJSONL

let url = CommandLine.arguments.dropFirst(2).first
let policy = DeliveryPolicy(
    flushCount: url == nil ? .max : 100, flushInterval: .seconds(url == nil ? 86_400 : 2))
let waiting = DeliveryPolicy(flushCount: .max, flushInterval: .seconds(86_400))
let pipeline = try Pipeline(delivery: policy) {
    Route("main") {
        JSONLStore(at: CommandLine.arguments[1], capacity: 1 << 31)
        // Nothing listens on port 9.
        HTTPTransport(to: url ?? "http://127.0.0.1:9/", format: .ndjson)
    }
    for name in CommandLine.arguments.dropFirst(3) {
        Route(name, delivery: waiting) {
            JSONLStore(at: CommandLine.arguments[1], capacity: 1 << 31)
            HTTPTransport(to: "http://127.0.0.1:9/", format: .ndjson)
        }
    }
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
await pipeline.shutdown(timeout: .zero)
