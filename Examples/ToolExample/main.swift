// A command-line tool that tracks what it does. Tracking makes it neither fail nor wait.
//
//     swift run ToolExample README.md        counts the lines of a file
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

func makePipeline() throws -> Pipeline {
    let isVerbose = environment["TOOL_DEBUG"] != nil
    if environment["DO_NOT_TRACK"] == nil {
        do {
            // Every run sends few events, so let them wait for the shutdown.
            return try Pipeline(onDiagnostic: { if isVerbose { say("analytics: \($0)") } }) {
                JSONLStore(at: state, capacity: 1_048_576)
                HTTPTransport(
                    to: environment["TOOL_COLLECTOR"] ?? "http://127.0.0.1:9/events", format: .ndjson,
                    configuration: .init(connectTimeout: .milliseconds(300)))
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

let pipeline = try makePipeline()
guard CommandLine.arguments.count == 2 else {
    say("usage: ToolExample FILE")
    exit(64)
}

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

// The user waits for this. Events that are not sent in time wait on disk for the next run.
let ledger = await pipeline.shutdown(timeout: .milliseconds(500))
if environment["TOOL_DEBUG"] != nil { say("\(ledger)") }
exit(status)
