// A command-line tool that tracks what it does. Tracking makes it neither fail nor wait.
//
//     swift run ToolExample README.md        counts the lines of a file
//     TOOL_COLLECTOR=http://127.0.0.1:8080/events swift run ToolExample README.md
//     DO_NOT_TRACK=1 swift run ToolExample README.md

import Foundation
import SluiceHTTP
import SluiceJSONL
import SluiceMemory

let environment = ProcessInfo.processInfo.environment

/// The folder for data that stays between runs.
let state = (environment["XDG_STATE_HOME"] ?? NSHomeDirectory() + "/.local/state") + "/tool-example"

func say(_ text: String) {
    FileHandle.standardError.write(Data("\(text)\n".utf8))
}

let isVerbose = environment["TOOL_DEBUG"] != nil
let collector = environment["TOOL_COLLECTOR"]

/// - Parameter sends: Whether this process delivers. A process that doesn't needs half of the processor time, because it
///   loads no library for HTTP.
func makePipeline(sends: Bool) throws -> Pipeline {
    if environment["DO_NOT_TRACK"] == nil {
        do {
            return try Pipeline(isDeliveryPaused: !sends, onDiagnostic: { if isVerbose { say("analytics: \($0)") } }) {
                JSONLStore(at: state, capacity: 1_048_576)
                HTTPTransport(to: collector ?? "http://127.0.0.1:9/events", format: .ndjson)
            }
        } catch {
            if isVerbose { say("analytics is off: \(error)") }
        }
    }
    return try Pipeline {
        MemoryStore()
        NullTransport()
    }
}

/// Starts this program once more, to deliver while the user goes on. It ends by itself.
func startSender() {
    let sender = Process()
    sender.executableURL = Bundle.main.executableURL
    sender.arguments = ["--send-events"]
    sender.standardInput = FileHandle.nullDevice
    sender.standardOutput = FileHandle.nullDevice
    sender.standardError = FileHandle.nullDevice
    do { try sender.run() } catch { if isVerbose { say("analytics: the sender can't be started: \(error)") } }
}

guard CommandLine.arguments.count == 2 else {
    say("usage: ToolExample FILE")
    exit(64)
}
if CommandLine.arguments[1] == "--send-events" {
    // The terminal's control-C and its end are not meant for this process.
    for number in [SIGINT, SIGHUP] { signal(number, SIG_IGN) }
    await (try makePipeline(sends: true)).shutdown()
    exit(0)
}

let pipeline = try makePipeline(sends: false)
let started = ContinuousClock.now
var status: Int32 = 0
do {
    let text = try String(contentsOfFile: CommandLine.arguments[1], encoding: .utf8)
    print("\(text.split(separator: "\n", omittingEmptySubsequences: false).count - 1) lines")
} catch {
    say("ToolExample: \(error.localizedDescription)")
    status = 66
}

// Track the kind of a run. Paths and arguments can contain personal data.
let milliseconds = (ContinuousClock.now - started) / .milliseconds(1)
pipeline.track("CommandRun", ["command": "count", "status": Int(status), "duration_ms": milliseconds])

// Sends nothing, so the user waits for milliseconds.
let ledger = await pipeline.shutdown()
if isVerbose { say("\(ledger)") }
if collector != nil, ledger.routes[0].waiting > 0 { startSender() }
exit(status)
