// Writes the requests that a wire format makes of random events, beside the events, for checkers that share no code with
// this package.
//
//     swift run -c release WireRequests --format NAME [--seed N] [--events N]
//     swift run WireRequests --list
//     swift run WireRequests --format NAME --peer URL [--store DIRECTORY]
//
// Standard output is JSON Lines, one for each batch: see SourceRecord.swift. The same seed makes the same output. With --peer, it
// is the host of PeerHost.swift.

import Foundation
import Sluice
import SluiceHTTP
import SluiceTesting

func fail(_ text: String) -> Never {
    FileHandle.standardError.write(Data("WireRequests: \(text)\n".utf8))
    exit(64)
}

var seed: UInt64 = 1
var count = 10_000
var sample: FormatSample?
var peer: String?
var store = "10485760"
var arguments = CommandLine.arguments.dropFirst()
while let argument = arguments.popFirst() {
    switch argument {
    case "--list":
        print(FormatSample.all.map(\.name).joined(separator: "\n"))
        exit(0)
    case "--seed": seed = arguments.popFirst().flatMap { UInt64($0) } ?? { fail("--seed N") }()
    case "--events": count = arguments.popFirst().flatMap { Int($0) } ?? { fail("--events N") }()
    case "--format":
        let name = arguments.popFirst() ?? ""
        sample = FormatSample.all.first { $0.name == name } ?? { fail("no format \(name); see --list") }()
    case "--peer": peer = arguments.popFirst() ?? { fail("--peer URL") }()
    case "--store": store = arguments.popFirst() ?? { fail("--store DIRECTORY") }()
    default: fail("no option \(argument)")
    }
}
guard let sample else { fail("--format NAME; see --list") }
if let peer {
    try await PeerHost(sample, to: peer, store: store).run()
    exit(0)
}

let time = VirtualTime()
let host = try RandomHost(seed: seed, time: time)
let client = RecordingClient(answer: sample.answer)
let transport = HTTPTransport(
    to: sample.url, format: sample.format, configuration: .init(client: client))
try transport.open(in: .virtual(time))
var random = SeededRandom(seed: seed &+ 1)
var written = 0
while written < count {
    let size = BatchSize(events: [1, 2, 10, 50, 200].randomElement(using: &random) ?? 1, bytes: 400_000)
    let batch = host.nextBatch(size, within: transport.maximumBatchSize)
    written += batch.events.count
    // Requests that are too large are split, as a route splits them.
    var parts = [batch]
    while let part = parts.popLast() {
        let first = try await transport.attempt(part, with: client)
        guard first.isWhole else {
            let middle = part.events.count / 2
            parts += [part[middle...], part[..<middle]]
            continue
        }
        let second = try await transport.attempt(part, with: client)
        guard first.requests.map(\.body) == second.requests.map(\.body) else {
            fail("the same batch makes other bodies the second time")
        }
        let line = SourceRecord.line(sample.name, part.events, first)
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}
