// Turns a web server's access log (combined format) into page_view events and delivers them.
//
//     swift run AccessLog [FILE|-] [--store DIR] [--to URL|stdout] [--format FORMAT] [--deadline SECONDS]
//
// FORMAT is ndjson, gzip (the same, compressed), clickhouse:TABLE, or clickhouse18:TABLE for servers older than 22.2.

import Foundation
import Sluice
import SluiceHTTP
import SluiceJSONL
import SluiceMemory
import SluiceStdout

func say(_ text: String) {
    FileHandle.standardError.write(Data(text.utf8))
}

func fail(_ text: String) -> Never {
    let usage = """
        usage: AccessLog [FILE|-] [--store DIR] [--to URL|stdout] [--format FORMAT] [--deadline SECONDS]
        FORMAT: ndjson, gzip, clickhouse:TABLE or clickhouse18:TABLE
        """
    say("AccessLog: \(text)\n\(usage)\n")
    exit(64)
}

func wireFormat(_ text: String) -> (any WireFormat)? {
    let parts = text.split(separator: ":", maxSplits: 1).map(String.init)
    switch (parts.first, parts.count) {
    case ("ndjson", 1): return .ndjson
    case ("gzip", 1): return NDJSONFormat(acceptsGzip: true)
    case ("clickhouse", 2): return .clickHouse(table: parts[1])
    case ("clickhouse18", 2): return .clickHouse(table: parts[1], server: .legacy)
    default: return nil
    }
}

var file = "-"
var store: String?
var target = "stdout"
var format: any WireFormat = .ndjson
var deadline = 30
var arguments = CommandLine.arguments.dropFirst()
while let argument = arguments.popFirst() {
    switch argument {
    case "--store": store = arguments.popFirst() ?? { fail("--store needs a folder") }()
    case "--to": target = arguments.popFirst() ?? { fail("--to needs a URL or stdout") }()
    case "--format":
        format = arguments.popFirst().flatMap(wireFormat) ?? { fail("--format needs a format") }()
    case "--deadline": deadline = arguments.popFirst().flatMap { Int($0) } ?? { fail("--deadline needs seconds") }()
    case _ where argument.hasPrefix("--"): fail("no option \(argument)")
    default: file = argument
    }
}
guard let input = file == "-" ? fdopen(0, "r") : fopen(file, "r") else { fail("cannot read \(file)") }

let pipeline: Pipeline
do {
    let policy = DeliveryPolicy(batch: BatchSize(events: 500, bytes: 262_144), flushCount: 500)
    pipeline = try Pipeline(delivery: policy, onDiagnostic: { say("\($0)\n") }) {
        if let store { JSONLStore(at: store, capacity: 1 << 30) } else { MemoryStore(capacity: 1 << 30) }
        if target == "stdout" { StdoutTransport() } else { HTTPTransport(to: target, format: format) }
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
        say("line \(lines) is not in the combined format: \(text(line.prefix(200)))\n")
    }
    if lines % 1_000 == 0 {
        if isTerminal { say("\r\(lines) lines") }
        // Reading goes no faster than delivery, as long as delivery goes on at all.
        if lines % 10_000 == 0 { await pipeline.flush() }
    }
}
if ferror(input) != 0 { say("AccessLog: \(file) could not be read to its end\n") }
await pipeline.flush()
let ledger = await pipeline.shutdown(deadline: .seconds(deadline))
let route = ledger.routes[0]
say(
    """
    \(isTerminal ? "\r" : "")\(lines) lines: \(ledger.tracked) events, \(strange) not understood
    \(route.recovered) recovered from an earlier run
    \(route.delivered) delivered, \(route.duplicates) of them duplicates
    \(route.rejected) rejected
    \(route.waiting) waiting\(store.map { " in \($0) for the next run" } ?? "")
    \(route.dropped.total + ledger.dropped.total) dropped\n
    """)
guard ledger.isBalanced, lines == ledger.tracked + strange else {
    say("AccessLog: events are unaccounted for: \(ledger)\n")
    exit(1)
}
if ferror(input) != 0 { exit(66) }
exit(route.delivered == ledger.tracked + route.recovered ? 0 : 2)
