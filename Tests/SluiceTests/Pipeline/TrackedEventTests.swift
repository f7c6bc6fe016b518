import Foundation
import SluiceTesting
import TestSupport
import Testing

@testable import Sluice

@Suite("Typed events, ids of the caller, and stand-ins for the pipeline")
struct TrackedEventTests {
    struct Purchase: TrackedEvent {
        static let eventName = "Purchase"
        let sku: String
        var coupon: String?
    }
    struct ByHand: TrackedEvent {
        static let eventName = "ByHand"
        let count: Int
        var eventProperties: Properties { Properties(["number": count]) }
    }
    struct Empty: TrackedEvent {
        static let eventName = "Empty"
    }
    struct Wrong: TrackedEvent {
        static let eventName = "Wrong"
        struct Inner: Encodable {
            func encode(to encoder: any Encoder) throws { throw CancellationError() }
        }
        let inner = Inner()
    }
    struct WrongByHand: TrackedEvent {
        static let eventName = "WrongByHand"
        var eventProperties: Properties { get throws { throw CancellationError() } }
    }

    /// A stand-in as a host would write one.
    final class Spy: EventTracking {
        let events = Locked<[Event]>([])
        func track(
            _ name: String, _ properties: Properties, priority: Event.Priority, id: EventID?,
            configure: (inout Event) -> Void
        ) -> EventID {
            var event = Event(
                id: id ?? EventID(high: 0, low: 1), name: name, time: Timestamp(milliseconds: 0), priority: priority,
                properties: properties)
            configure(&event)
            events.withLock { $0.append(event) }
            return event.id
        }
    }

    private let store = RecordingStore()
    private let diagnostics = Locked<[Diagnostic]>([])
    private let pipeline: Pipeline

    init() throws {
        let (store, diagnostics) = (store, diagnostics)
        pipeline = try Pipeline.with(
            in: store, onDiagnostic: { diagnostic in diagnostics.withLock { $0.append(diagnostic) } })
    }

    @Test("a typed event is tracked with its name and its stored properties")
    func typedEventIsTracked() {
        let id = pipeline.track(Purchase(sku: "A-7"), priority: .critical) { $0.loginID = "kim" }
        pipeline.track(ByHand(count: 3))
        pipeline.track(Empty())
        let events = store.events
        #expect(events.map(\.name) == ["Purchase", "ByHand", "Empty"])
        #expect(events.map(\.properties) == [["sku": "A-7"], ["number": 3], [:]])
        #expect(events[0].id == id && events[0].priority == .critical && events[0].loginID == "kim")
    }

    @Test("an event that can't be encoded is stored with the error, counted, and reported once")
    func wrongEventIsCounted() async {
        for _ in 0..<3 { pipeline.track(Wrong()) }
        pipeline.track(WrongByHand())
        let message = "Wrong.inner can't be encoded: Inner threw an error of type CancellationError"
        #expect(
            store.events(named: "Wrong").map(\.properties)
                == Array(repeating: ["$encoding_error": .string(message)], count: 3))
        #expect(
            store.events(named: "WrongByHand").first?.properties
                == ["$encoding_error": "WrongByHand threw an error of type CancellationError"])
        let ledger = await pipeline.shutdown()
        #expect(ledger.sanitized == [.unencodable: 4] && ledger.tracked == 4 && ledger.isBalanced)
        let found = diagnostics.withLock(\.self)
        #expect(found.map(\.kind) == [.encoding, .encoding] && found.map(\.severity) == [.error, .error])
        #expect(found.first?.message == "Wrong was stored without a part of it (reported once): \(message)")
    }

    struct W: TrackedEvent {
        static let eventName = "W"
        struct Inner: Encodable {
            var big = Int128.max
            var ok = 1
            var bigs: [UInt128] = [1]
            var named = ["k": Int128.min]
            var none: Int128?
        }
        var before = "x"
        var items = [Inner()]
        var single = Wrong.Inner()
        var wrongs: [Wrong.Inner] = [Wrong.Inner()]
        var after = 2.5
    }

    @Test(
        "a value that can't be encoded is left out, the other members are kept, and the error names the place and the type"
    )
    func otherMembersAreKept() async throws {
        pipeline.track(W())
        let message =
            "W.items[0].big can't be encoded: Int128 is wider than the 64 bits of receivers: convert it to a string or a double"
        #expect(
            store.events[0].properties.description
                == #"{"before":"x","items":[{"ok":1,"bigs":[null],"named":{}}],"wrongs":[null],"after":2.5,"#
                + #""$encoding_error":"\#(message)"}"#)
        let error = #expect(throws: SluiceError.self) { try Properties(encoding: W()) }
        #expect(error?.message == message)
        let ledger = await pipeline.shutdown()
        #expect(ledger.sanitized == [.unencodable: 1] && ledger.isBalanced)
        #expect(diagnostics.withLock(\.self).map(\.kind) == [.encoding])
    }

    @Test("at most 100 encoding errors are reported")
    func encodingErrorsAreBounded() {
        for number in 0..<150 {
            pipeline.track("E", ["$encoding_error": .string("error \(number)")]) { $0.report(.unencodable) }
        }
        #expect(diagnostics.withLock(\.count) == 100)
    }

    @Test("track returns the id of the stored event")
    func trackReturnsID() {
        let ids = (0..<3).map { pipeline.track("E \($0)") }
        #expect(store.events.map(\.id) == ids && Set(ids).count == 3)
        let replaced = pipeline.track("E") { event in
            event = Event(id: EventID(high: 7, low: 8), name: "Other", time: event.time)
        }
        #expect(replaced == EventID(high: 7, low: 8) && store.events.last?.id == replaced)
    }

    @Test("an id of the caller is kept, also if it is used twice or isn't a UUID")
    func callersIDIsKept() async {
        let ids = [
            EventID(high: 1, low: 2), EventID(high: 1, low: 2), EventID(high: 0, low: 0),
            EventID(high: .max, low: .max),
        ]
        #expect(ids.map { pipeline.track("E", id: $0) } == ids)
        #expect(store.events.map(\.id) == ids)
        // The next id of the pipeline's own isn't affected.
        #expect(pipeline.track("E").high >> 12 & 0xF == 7)
        #expect(await pipeline.shutdown().isBalanced)
    }

    @Test("an event that is dropped has an id too")
    func droppedEventHasID() async {
        let id = EventID(high: 1, low: 2)
        #expect(pipeline.track("", id: id) == id)
        await pipeline.shutdown()
        #expect(pipeline.track("E", id: id) == id && pipeline.track("E") != pipeline.track("E"))
        #expect(pipeline.ledger.dropped == [.emptyName: 1, .shutDown: 3])
    }

    @Test("a stand-in with one method gets events of every form")
    func standInGetsEvents() {
        let spy = Spy()
        let analytics: any EventTracking = spy
        let sku = "A-7"
        let id = EventID(high: 3, low: 4)
        analytics.track("A")
        analytics.track("B", ["n": 1, "l": [1, "x", nil], "o": ["k": true]], priority: .critical, id: id)
        analytics.track("C", ["sku": sku]) { $0.loginID = "kim" }
        #expect(analytics.track(Purchase(sku: sku), id: id) == id)
        analytics.track(Wrong())
        let events = spy.events.withLock(\.self)
        #expect(events.map(\.name) == ["A", "B", "C", "Purchase", "Wrong"])
        #expect(
            events.prefix(4).map(\.properties) == [
                [:], ["n": 1, "l": [1, "x", nil], "o": ["k": true]], ["sku": "A-7"], ["sku": "A-7"],
            ])
        #expect(events[1].priority == .critical && events[1].id == id && events[2].loginID == "kim")
        #expect(events[4].properties["$encoding_error"]?.string?.hasPrefix("Wrong.inner") == true)
        #expect(events[4].properties.sanitizations == [.unencodable])
    }

    @Test("a NullTransport accepts everything, also within its contract")
    func nullTransportAccepts() async throws {
        try await TransportContract.check { NullTransport() }
        pipeline.track("E")
        #expect(await pipeline.flush().delivered == 1)
        #expect(store.events.count == 1)
    }

    @Test("every kind of diagnostic has its severity")
    func diagnosticsHaveSeverity() {
        func severity(_ kind: Diagnostic.Kind) -> Diagnostic.Severity {
            Diagnostic(kind: kind, route: nil, message: "").severity
        }
        #expect([.resumed, .note].map(severity) == [.info, .info])
        #expect([.retrying, .searching].map(severity) == [.warning, .warning])
        #expect(
            ([.dropped, .paused, .rejected, .store, .plugin, .encoding] as [Diagnostic.Kind]).allSatisfy {
                severity($0) == .error
            })
        #expect(Diagnostic.Severity.info < .warning && .warning < Diagnostic.Severity.error)
    }
}
