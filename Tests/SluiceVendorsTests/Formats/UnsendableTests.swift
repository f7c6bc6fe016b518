import HTTPTestSupport
import Sluice
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceHTTP
@testable import SluiceVendors

/// A format with a small limit for bodies, so that tests need no large events.
private struct Limited: WireFormat {
    let base: any WireFormat
    let maximumBodyBytes = 6_000

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws { try base.encode(batch, into: &request) }
    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        base.verdicts(for: batch, from: response)
    }
}

@Suite("Events that the transport can't send", .serialized)
struct UnsendableTests {
    /// Three events that every format can send.
    private static func good() throws -> [EventLine] { try Batch.allKinds().events }

    private static func tooLarge() throws -> EventLine {
        var event = Event.numbered(7)
        var random = SeededRandom(seed: 1)
        // Doesn't become smaller in Sensors' compressed body.
        let letters = (0..<14_000).map { _ in "abcdefghijklmnop".randomElement(using: &random) ?? "a" }
        event.properties["s"] = .string(String(letters))
        // Google Analytics has short values only.
        event.checkedLoginID = String(letters)
        return try EventLine(event)
    }

    /// A line with a key that is given twice. No version writes it.
    private static func unreadable() throws -> EventLine {
        let line = try EventLine(Event.numbered(8))
        return EventLine(bytes: line.bytes.dropLast() + Array(#","time":1}"#.utf8), priority: line.priority)
    }

    /// Sends a batch of four or five events with a too large one, and an unreadable one if the format reads lines.
    private static func send(
        _ sample: FormatSample, _ events: [EventLine]? = nil, _ respond: @escaping @Sendable () throws -> HTTPResponse
    ) async throws -> (fates: [Fate], bodies: [String]) {
        let client = KeepingClient { _, _ in try respond() }
        let transport = client.transport(HTTPFormat(Limited(base: sample.wire)), to: sample.url)
        try transport.open(in: .virtual(VirtualTime()))
        let events = try events ?? batch(sample)
        let verdicts = try await transport.send(Batch(id: 1, events: events))
        return (verdicts.fates(of: events.count), client.bodies)
    }

    private static func batch(_ sample: FormatSample) throws -> [EventLine] {
        let good = try good()
        return try [good[0], tooLarge()] + (sample.readsLines ? [unreadable()] : []) + good[1...]
    }

    private static func fates(_ sample: FormatSample, others: Fate) -> [Fate] {
        [others, .unsendable] + (sample.readsLines ? [.unsendable] : []) + [others, others]
    }

    @Test("the other events of the batch are sent in the same call", arguments: FormatSample.all)
    func othersAreSent(sample: FormatSample) async throws {
        let row = try #require(
            ResponseTables.all.first {
                $0.format == sample.name.replacing("Account", with: "")
                    && $0.fates == [.accepted, .accepted, .accepted]
            })
        let (fates, bodies) = try await Self.send(sample) {
            HTTPResponse(status: row.status, headers: row.headers, body: Array(row.body.utf8))
        }
        #expect(fates == Self.fates(sample, others: .accepted))
        let expected = try sample.request(.allKinds(), sentAt: VirtualTime().wallTime()).body
        #expect(bodies == [String(decoding: expected, as: UTF8.self)])
    }

    @Test("the server's response, or none, decides on the other events only", arguments: FormatSample.all)
    func responseDecidesOnOtherEvents(sample: FormatSample) async throws {
        let answers: [(Int?, Fate)] = [
            (503, .retry), (429, .retry), (413, .tooLarge), (400, .refused), (401, .hold), (nil, .retry),
        ]
        for (status, fate) in answers {
            let (fates, bodies) = try await Self.send(sample) {
                guard let status else { throw SluiceError(.inputOutput, "no connection") }
                return HTTPResponse(status: status)
            }
            #expect(fates == Self.fates(sample, others: fate), "\(status.map(String.init) ?? "no response")")
            #expect(bodies.count == 1)
        }
    }

    @Test("without other events there is no request", arguments: FormatSample.all)
    func noRequestWithoutOthers(sample: FormatSample) async throws {
        let events = try [Self.tooLarge()] + (sample.readsLines ? [Self.unreadable()] : []) + [Self.tooLarge()]
        let (fates, bodies) = try await Self.send(sample, events) { HTTPResponse(status: 200) }
        #expect(fates == events.map { _ in .unsendable })
        #expect(bodies.isEmpty)
    }

    @Test("a cancellation is passed on, since it isn't a failure of the server")
    func cancellationIsPassedOn() async throws {
        let sample = try FormatSample.named("segment")
        await #expect(throws: CancellationError.self) {
            try await Self.send(sample) { throw CancellationError() }
        }
    }

    @Test("the reason of the others' retry doesn't contain the text of an unknown error")
    func reasonOfRetryIsSafe() async throws {
        struct Leak: Error, CustomStringConvertible { let description = "s3cr3t-key" }
        let transport = KeepingClient { _, _ in throw Leak() }.transport(.segment(writeKey: "k"))
        let events = try [Self.unreadable()] + Self.good()
        let verdicts = try await transport.send(Batch(id: 1, events: events))
        #expect(!"\(verdicts)".contains("s3cr3t") && "\(verdicts)".contains("Leak"))
    }

    @Test("an event for which a custom format throws doesn't block the others")
    func customErrorBlocksNoOthers() async throws {
        struct Picky: WireFormat {
            struct Failure: Error {}
            func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
                if try batch.events.contains(where: { try $0.event().name == "Bare" }) { throw Failure() }
                request.body = batch.lines()
            }
        }
        let client = KeepingClient(responding: HTTPResponse(status: 200))
        let verdicts = try await client.transport(HTTPFormat(Picky())).send(.allKinds())
        #expect(verdicts.fates(of: 3) == [.accepted, .unsendable, .accepted])
        #expect(client.requests.count == 1)
    }

    @Test("formats that copy the lines send those that they can't read")
    func linesAreCopied() async throws {
        for sample in FormatSample.all where !sample.readsLines {
            let (fates, bodies) = try await Self.send(sample, [Self.unreadable()]) { HTTPResponse(status: 503) }
            #expect(fates == [.retry])
            #expect(bodies.count == 1)
        }
    }

    @Test("an event of a newer version, with keys that this one doesn't know, is sent", arguments: FormatSample.all)
    func newerEventsAreSent(sample: FormatSample) async throws {
        let line = try EventLine(Event.numbered(8))
        let unknown = #","tenant":{"event":"x","time":[{"properties":"\"}"}]}"#
        let text = String(decoding: line.bytes.dropLast(), as: UTF8.self)
            .replacing(#","event":"#, with: #"\#(unknown),"event":"#, maxReplacements: 1)
        let newer = "\(text),\"later\":[]}"
        let events = [EventLine(bytes: Array(newer.utf8)[...], priority: line.priority)]
        let (fates, bodies) = try await Self.send(sample, events) { HTTPResponse(status: 503) }
        #expect(fates == [.retry])
        #expect(bodies.count == 1)
    }
}

extension FormatSample {
    /// Whether the format reads events, instead of copying the stored lines.
    fileprivate var readsLines: Bool {
        ![
            "jsonArray", "ndjson", "fluentBit", "vector", "clickHouse", "clickHouseLegacy", "elasticsearch", "loki",
            "kafka", "kafkaV3", "splunk", "kinesis", "firehose", "objects",
        ].contains(name)
    }
}
