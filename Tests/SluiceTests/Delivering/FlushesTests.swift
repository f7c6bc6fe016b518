import TestSupport
import Testing

@testable import Sluice
@testable import SluiceDelivery

/// The events of a flush, compared with lists of their numbers.
@Suite struct FlushesTests {
    /// A store, open batches and flushes, and the numbers of each flush's events.
    private struct Model {
        struct Expected {
            var waiting: Set<Int>
            var delivered = 0
            var rejected = 0
        }

        var flushes = Flushes()
        var store = ModelStore()
        var open: [OpenBatch] = []
        var expected: [Int: Expected] = [:]
        let reports = Locked<[Int: FlushReport]>([:])
        var begun = 0
        var tracked = 0

        static func number(_ line: EventLine) -> Int { Int(line.bytes.first ?? 255) }

        static func numbers(_ batch: OpenBatch) -> [Int] { batch.rest.map { number(batch.batch.events[$0]) } }

        mutating func track() {
            let priority: Event.Priority = Int.random(in: 0..<3) == 0 ? .critical : .normal
            tracked += 1
            store.append(EventLine(bytes: [UInt8(tracked)], priority: priority))
            if priority == .critical { flushes.appendedCritical(1) }
        }

        mutating func flush() {
            let inStore = store.events.map(Self.number)
            begun += 1
            expected[begun] = Expected(waiting: Set(inStore + open.flatMap(Self.numbers)))
            // Each has a deadline of its own, so that one can end.
            flushes.begin(untaken: inStore.count, open, until: .seconds(begun)) { [reports, begun] report in
                reports.withLock { $0[begun] = report }
            }
        }

        mutating func take() {
            guard let batch = store.nextBatch(BatchSize(events: .random(in: 1...6), bytes: .max)) else { return }
            open.append(OpenBatch(batch, size: BatchSize(events: 10, bytes: .max)))
            flushes.took(batch)
        }

        /// Loses the oldest event if it is a normal one.
        mutating func lose() {
            guard store.events.first?.priority == .normal, let line = store.loseOldest() else { return }
            for key in expected.keys { expected[key]?.waiting.remove(Self.number(line)) }
            flushes.changed(by: -1)
        }

        mutating func send() {
            guard let index = open.indices.randomElement() else { return }
            let places = open[index].rest.filter { _ in Bool.random() }
            if places.isEmpty { return }
            let part = Part(open[index], places)
            let isAccepted = part.places.map { _ in Bool.random() }
            let answer = Answer(
                .each(isAccepted.map { $0 ? .accepted : .retry(after: .seconds(1)) }), count: places.count)
            let dead = zip(places, isAccepted).filter { !$1 && Bool.random() }.map { place, _ in
                DeliveryRule.Rejected(
                    key: open[index].key(place), line: open[index].batch.events[place],
                    failure: Answer.Failure(kind: .refused, reason: "no"))
            }
            flushes.record(Settlement(part: part, answer: answer, actions: [.reject(dead, open[index].id)]))
            let accepted = Set(zip(part.batch.events, isAccepted).filter(\.1).map { Self.number($0.0) })
            let rejected = Set(dead.map { Self.number($0.line) })
            for key in expected.keys {
                guard let waiting = expected[key]?.waiting else { continue }
                expected[key]?.delivered += waiting.intersection(accepted).count
                expected[key]?.rejected += waiting.intersection(rejected).count
                expected[key]?.waiting = waiting.subtracting(accepted).subtracting(rejected)
            }
            open[index].rest.remove(zip(places, isAccepted).filter { _, accepted in accepted }.map(\.0))
            open[index].rest.remove(dead.map(\.key.place))
            if open[index].rest.isEmpty { open.remove(at: index) }
        }

        /// Ends the oldest flush, and returns whether its report is exact.
        mutating func end() -> Bool {
            guard let number = expected.keys.min(), let expected = expected.removeValue(forKey: number) else {
                return true
            }
            var ledger = RouteLedger(name: "main")
            ledger.waiting = .max
            flushes.end(.due(.seconds(number)), ledger)
            for resume in flushes.ended.takeAll() { resume() }
            guard let report = reports.withLock({ $0[number] }) else { return false }
            return report.delivered == expected.delivered && report.rejected == expected.rejected
                && report.waiting == expected.waiting.count
        }
    }

    @Test("every report is exact in random orders of events, flushes, losses and answers")
    func everyReportIsExact() {
        var reports = 0
        for trial in 0..<Trials.count(full: 20_000, few: 1_000) {
            var model = Model()
            for _ in 0..<100 {
                switch Int.random(in: 0..<12) {
                case 0...4: model.track()
                case 5: model.flush()
                case 6...7: model.take()
                case 8...9: model.send()
                case 10: model.lose()
                default:
                    reports += model.expected.isEmpty ? 0 : 1
                    guard model.end() else {
                        Issue.record("a wrong report in trial \(trial)")
                        return
                    }
                }
            }
        }
        #expect(reports > 1_000)
    }

    @Test("events of an earlier process that the store finds during a flush belong to it")
    func foundEventsBelongToFlush() {
        var flushes = Flushes()
        let result = Locked<FlushReport?>(nil)
        flushes.begin(untaken: 0, [], until: nil) { report in result.withLock { $0 = report } }
        flushes.changed(by: 3)
        var ledger = RouteLedger(name: "main")
        (ledger.waiting, ledger.unreadBytes) = (3, 7)
        flushes.end(.complete, ledger)
        #expect(flushes.ended.isEmpty)
        flushes.end(.all, ledger)
        for resume in flushes.ended.takeAll() { resume() }
        #expect(result.withLock { $0?.waiting } == 3)
        #expect(result.withLock { $0?.unreadBytes } == 7)
    }
}
