// Turns a web server's access log into page_view events and delivers them.
//
//     swift run AccessLog [FILE|-] [--store DIR] [--to URL|stdout]
//
// See Options.swift for the other options and Request.swift for the format of a line.

import Foundation
import SluiceHTTP
import SluiceJSONL
import SluiceMemory
import SluiceStdout

func say(_ text: String) {
    FileHandle.standardError.write(Data(text.utf8))
}

func fail(_ text: String) -> Never {
    say("AccessLog: \(text)\n\(Options.usage)\n")
    exit(64)
}

let options: Options
do {
    options = try Options(CommandLine.arguments.dropFirst())
} catch {
    fail("\(error)")
}
let file = options.file
guard let input = file == "-" ? fdopen(0, "r") : fopen(file, "r") else { fail("cannot read \(file)") }

let pipeline: Pipeline
do {
    let policy = DeliveryPolicy(batch: BatchSize(events: 500, bytes: 262_144), flushCount: 500)
    pipeline = try Pipeline(delivery: policy, onDiagnostic: { say("\($0)\n") }) {
        if let folder = options.store {
            JSONLStore(at: folder, capacity: 1 << 30)
        } else {
            MemoryStore(capacity: 1 << 30)
        }
        if let url = options.url {
            HTTPTransport(to: url, format: options.format)
        } else {
            StdoutTransport()
        }
    }
} catch {
    fail("\(error)")
}

let isTerminal = isatty(2) == 1
var lines = 0
var strange = 0
while let line = readLine(of: input) {
    lines += 1
    if let request = Request(line) {
        pipeline.track("page_view", request.properties) { event in
            event.time = request.time
            event.anonymousID = request.client
            event.distinctID = request.client
        }
    } else {
        strange += 1
        say("line \(lines) is not in a format of access logs: \(text(line.prefix(200)))\n")
    }
    if lines % 1_000 == 0 {
        if isTerminal { say("\r\(lines) lines") }
        // Reading waits for the delivery, unless the delivery fails.
        if lines % 10_000 == 0 { await pipeline.flush() }
    }
}
if ferror(input) != 0 { say("AccessLog: \(file) could not be read to its end\n") }
await pipeline.flush()
let ledger = await pipeline.shutdown(timeout: .seconds(options.deadline))
let route = ledger.routes[0]
say(
    """
    \(isTerminal ? "\r" : "")\(lines) lines: \(ledger.tracked) events, \(strange) not understood
    \(route.recovered) recovered from an earlier run
    \(route.delivered) delivered, \(route.duplicates) of them duplicates
    \(route.rejected) rejected
    \(route.waiting) waiting\(options.store.map { " in \($0) for the next run" } ?? "")
    \(route.dropped.total + ledger.dropped.total) dropped\n
    """)
guard ledger.isBalanced, lines == ledger.tracked + strange else {
    say("AccessLog: events are unaccounted for: \(ledger)\n")
    exit(1)
}
if ferror(input) != 0 { exit(66) }
// Probably another file, or a log in another format.
if lines > 0, strange == lines { exit(65) }
exit(route.delivered == ledger.tracked + route.recovered ? 0 : 2)
