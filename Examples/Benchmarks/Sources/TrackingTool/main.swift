// Counts the lines of a file as Tool does, and tracks that it ran:
//
//     TrackingTool leave FOLDER URL FILE        the event waits for a sender
//     TrackingTool start FOLDER URL FILE        the same, and a sender is started
//     TrackingTool send FOLDER URL FILE         the event is sent before the end
//     TrackingTool deliver FOLDER URL           sends what others left, and prints the delivered events and the requests

import Foundation
import SluiceHTTP
import SluiceJSONL

let arguments = CommandLine.arguments
let pipeline = try Pipeline(isDeliveryPaused: ["leave", "start"].contains(arguments[1])) {
    JSONLStore(at: arguments[2], capacity: 1_048_576)
    HTTPTransport(to: arguments[3], format: .ndjson, configuration: .init(connectTimeout: .milliseconds(300)))
}
if arguments[1] == "deliver" {
    let route = await pipeline.shutdown(timeout: .seconds(30)).routes[0]
    print("\(route.delivered) \(route.attempts.total)")
} else {
    let text = try String(contentsOfFile: arguments[4], encoding: .utf8)
    print(text.count { $0 == "\n" })
    pipeline.track("CommandRun", ["command": "count", "status": 0])
    await pipeline.shutdown()
    if arguments[1] == "start" {
        let sender = Process()
        sender.executableURL = Bundle.main.executableURL
        sender.arguments = ["deliver", arguments[2], arguments[3]]
        sender.standardInput = FileHandle.nullDevice
        sender.standardOutput = FileHandle.nullDevice
        try sender.run()
    }
}
