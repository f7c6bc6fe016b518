import Testing

@testable import Sluice
@testable import SluiceDelivery

/// When a route sends: tables of inputs and the decision after them.
@Suite struct PassesTests {
    private static let policy = DeliveryPolicy(
        batch: BatchSize(events: 10, bytes: .max), flushCount: 3, flushInterval: .seconds(15),
        criticalInterval: .seconds(3))

    /// Times are seconds of the continuous clock.
    enum Input: Sendable {
        case append(at: Int)
        case appendCritical(at: Int)
        /// Events that are stored together, at 0 s.
        case together(Int)
        case flush
        /// A worker looks, and takes a batch if it may.
        case take(Int, critical: Int = 0, at: Int)
        /// The store returns nothing.
        case foundNothing
        /// A worker looks when nothing waits.
        case nothingWaits(besideOthers: Bool = false)
        /// The store has lost events.
        case lose(Int)
        case set(count: Int, interval: Int)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let inputs: [Input]
        let now: Int
        /// When the next pass begins; nil if the worker may send now.
        let next: Int?
        /// Events that are there at the end, in addition to those of the inputs.
        var more = 0

        init(_ description: String, _ inputs: [Input], more: Int = 0, at now: Int, next: Int?) {
            (testDescription, self.inputs, self.more, self.now, self.next) = (description, inputs, more, now, next)
        }
    }

    private static func passes(_ inputs: [Input]) -> (Passes, waiting: Int) {
        var passes = Passes(policy)
        var waiting = 0
        for input in inputs {
            switch input {
            case .append(let now), .appendCritical(let now):
                waiting += 1
                let priority = if case .append = input { Event.Priority.normal } else { Event.Priority.critical }
                _ = passes.appended(priority, waiting: waiting, mayBegin: true, isReady: true) { .seconds(now) }
            case .together(let count):
                for number in 1...count {
                    waiting += 1
                    _ = passes.appended(
                        .normal, waiting: waiting, mayBegin: number == count, isReady: true, at: { .zero })
                }
            case .flush: passes.flushRequested()
            case .take(let events, let critical, let now):
                guard passes.maySend(waiting, mustSend: false, at: .seconds(now)) else { continue }
                passes.took(events, critical: critical)
                waiting -= events
            case .foundNothing: passes.foundNothing()
            case .nothingWaits(let besideOthers): passes.nothingWaits(besideOthers: besideOthers)
            case .lose(let count): waiting -= count
            case .set(let count, let interval): passes.set(count: count, interval: .seconds(interval))
            }
        }
        return (passes, waiting)
    }

    static let triggers: [Row] = [
        Row("the first event waits for the interval", [.append(at: 0)], at: 14, next: 15),
        Row("the interval is over", [.append(at: 0)], at: 15, next: nil),
        Row("the oldest event counts", [.append(at: 0), .append(at: 10)], at: 11, next: 15),
        Row("one below the count", [.append(at: 0), .append(at: 1)], at: 1, next: 15),
        Row("the count", [.append(at: 0), .append(at: 1), .append(at: 1)], at: 1, next: nil),
        Row("a critical event", [.appendCritical(at: 2)], at: 4, next: 5),
        Row("the critical interval is over", [.appendCritical(at: 2)], at: 5, next: nil),
        Row("a critical event brings the pass nearer", [.append(at: 0), .appendCritical(at: 1)], at: 1, next: 4),
        Row("a critical event never delays the pass", [.append(at: 0), .appendCritical(at: 14)], at: 14, next: 15),
        Row("a normal event after a critical one", [.appendCritical(at: 0), .append(at: 1)], at: 1, next: 3),
        Row("a flush", [.append(at: 0), .flush], at: 0, next: nil),
        Row("an event that isn't counted yet has an interval, too", [], more: 1, at: 6, next: 21),
        Row("a higher count", [.set(count: 4, interval: 15), .together(3)], at: 0, next: 15),
        Row("a lower count", [.append(at: 0), .set(count: 1, interval: 15), .append(at: 1)], at: 1, next: nil),
        Row("a longer interval", [.set(count: 3, interval: 60), .append(at: 5)], at: 64, next: 65),
        Row(
            "a change begins the interval of a waiting event", [.append(at: 0), .set(count: 3, interval: 60)],
            at: 1, next: 61),
    ]

    static let extents: [Row] = [
        Row(
            "an event after the count waits for its own interval",
            [.append(at: 0), .append(at: 1), .append(at: 2), .append(at: 3), .take(3, at: 3)], at: 3, next: 18),
        Row("events that are stored together are in one pass", [.together(5), .take(3, at: 0)], at: 0, next: nil),
        Row(
            "a pass goes on until the events that it covers are sent",
            [.append(at: 0), .append(at: 1), .take(1, at: 15)],
            at: 15, next: nil),
        Row(
            "a pass doesn't cover later events",
            [.append(at: 0), .append(at: 1), .take(1, at: 15), .append(at: 16), .take(1, at: 16)], at: 16, next: 31),
        Row(
            "a full batch is sent beside the pass",
            [.append(at: 0), .take(1, at: 15)]
                + Array(repeating: .append(at: 16), count: 10), at: 16, next: nil),
        Row(
            "a pass that lost an event ends with the rest",
            [.together(3), .take(1, at: 0), .lose(2), .nothingWaits(), .append(at: 2)],
            at: 2, next: 17),
        Row(
            "a pass that lost an event doesn't cover a later one",
            [.together(3), .take(1, at: 0), .lose(1), .take(1, at: 0), .append(at: 1), .append(at: 2)], at: 2, next: 16),
        Row(
            "an interval ends when nothing waits",
            [.append(at: 0), .append(at: 0), .lose(2), .nothingWaits(), .append(at: 2)],
            at: 2, next: 17),
        Row(
            "a pass goes on beside a batch in flight, for full batches",
            [.together(3), .take(3, at: 0), .nothingWaits(besideOthers: true), .append(at: 1)], at: 1, next: 16),
        Row(
            "a critical event that overtakes a pass doesn't end it",
            [.append(at: 0), .append(at: 0), .take(1, at: 15), .appendCritical(at: 15), .take(1, critical: 1, at: 15)],
            at: 15, next: nil),
        Row(
            "nor does one that is taken before it is counted",
            [.append(at: 0), .take(1, critical: 1, at: 15), .take(0, at: 15)], at: 15, next: nil),
        Row(
            "nor do more than a batch of them",
            [
                .together(25), .take(10, critical: 10, at: 0), .take(10, critical: 10, at: 0),
                .take(10, critical: 10, at: 0), .take(10, at: 0),
            ],
            more: 0, at: 0, next: nil),
    ]

    static let flushes: [Row] = [
        Row("a flush asks a store in which nothing seems to wait", [.flush], at: 0, next: nil),
        Row("it asks until the store returns nothing", [.append(at: 0), .flush, .take(1, at: 0)], at: 0, next: nil),
        Row(
            "then it is over", [.append(at: 0), .flush, .take(1, at: 0), .foundNothing], more: 1, at: 0, next: 15),
        Row(
            "it covers at most a batch more than is counted",
            [.append(at: 0), .flush, .take(1, at: 0), .together(12), .take(5, at: 0), .take(5, at: 0)], at: 0, next: 15),
        Row(
            "it covers all events behind critical ones that aren't counted yet",
            [
                .together(25), .flush, .take(10, critical: 10, at: 0), .take(10, critical: 10, at: 0),
                .take(10, critical: 10, at: 0), .take(10, at: 0),
            ], at: 0, next: nil),
        Row(
            "a flush during a pass begins another one",
            [.together(3), .take(2, at: 0), .flush, .append(at: 0), .take(1, at: 0)], at: 0, next: nil),
        Row(
            "a nothing that comes before its pass begins doesn't end a flush", [.append(at: 0), .flush, .foundNothing],
            at: 0, next: nil),
        Row("a counted pass goes on when the store returns nothing", [.together(3), .foundNothing], at: 0, next: nil),
    ]

    @Test("inputs lead to a decision", arguments: triggers + extents + flushes)
    func inputsLeadToDecision(row: Row) {
        var (passes, waiting) = PassesTests.passes(row.inputs)
        // A look doesn't change the decision.
        for _ in 1...2 {
            let maySend = passes.maySend(waiting + row.more, mustSend: false, at: .seconds(row.now))
            #expect(maySend == (row.next == nil))
            if let next = row.next { #expect(passes.due == .seconds(next)) }
        }
    }

    @Test("the end of a back-off begins a pass")
    func endOfBackOffBeginsPass() {
        var (passes, waiting) = PassesTests.passes([.append(at: 0)])
        let maySend = passes.maySend(waiting, mustSend: true, at: .zero)
        #expect(maySend)
    }

    /// Workers need not wake for other events.
    @Test("only an event that brings the next pass nearer wakes a worker")
    func onlyNearerPassWakes() {
        var passes = Passes(PassesTests.policy)
        func append(_ priority: Event.Priority, _ waiting: Int, isReady: Bool = true, at now: Int) -> Duration? {
            passes.appended(priority, waiting: waiting, mayBegin: true, isReady: isReady) { .seconds(now) }
        }
        let looks = [
            append(.normal, 1, at: 0),
            append(.normal, 2, at: 1),
            append(.critical, 3, isReady: false, at: 1),
            append(.critical, 3, at: 1),
            append(.normal, 4, at: 2),
            append(.normal, 13, at: 2),
        ]
        #expect(looks == [.seconds(15), nil, .seconds(4), .past, .seconds(17), .past])
    }
}
