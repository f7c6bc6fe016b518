import TestSupport
import Testing

@testable import Sluice
@testable import SluiceDelivery

/// The events of a flush, compared with lists of their numbers.
@Suite struct FlushesTests {
    /// A store, a table of batches and flushes, and the numbers of each flush's events.
    private struct Model {
        struct Expected {
            var waiting: Set<Int>
            var delivered = 0
            var rejected = 0
        }

        var table = BatchTable()
        var store = ModelStore()
        var batches: [BatchProgress] = []
        var flushes: [Int: Expected] = [:]
        var tracked = 0

        mutating func track() {
            let priority: Event.Priority = Int.random(in: 0..<3) == 0 ? .critical : .normal
            tracked += 1
            store.append(SteppedRoute.line(tracked, priority))
            if priority == .critical { table.flushes.appendedCritical() }
        }

        mutating func flush() {
            let inStore = store.events.map(SteppedRoute.number)
            let out = batches.flatMap(SteppedRoute.numbers)
            flushes[table.beginFlush(untaken: inStore.count)] = Expected(waiting: Set(inStore + out))
        }

        mutating func take() {
            guard let batch = store.nextBatch(BatchSize(events: .random(in: 1...6), bytes: .max)) else { return }
            table.beginTake()
            batches.append(BatchProgress(batch))
            table.took(BatchProgress(batch), size: BatchSize(events: 10, bytes: .max))
        }

        /// Loses the oldest event if it is a normal one.
        mutating func lose() {
            guard store.events.first?.priority == .normal, let line = store.loseOldest() else { return }
            for key in flushes.keys { flushes[key]?.waiting.remove(SteppedRoute.number(line)) }
            table.flushes.changed(by: -1)
        }

        mutating func send() {
            guard let index = batches.indices.randomElement() else { return }
            if batches[index].isDeferred { batches[index].resume() }
            let part = batches[index].nextPart(BatchSize(events: .random(in: 1...6), bytes: .max))
            let choices: [Verdict] = [
                .duplicate, .rejected(reason: "no"), .retry(after: .zero), .retry(after: .seconds(1)),
            ]
            let each = part.events.map { _ in Bool.random() ? .accepted : choices.randomElement() ?? .accepted }
            let all: [Verdicts] = [.all(.accepted), .all(.retry(after: nil)), .all(.hold(reason: "no"))]
            let verdicts = Bool.random() ? .each(each) : all.randomElement() ?? .all(.accepted)
            let before = Set(SteppedRoute.numbers(waitingIn: batches[index]))
            let result = batches[index].apply(verdicts, toFirst: part.events.count)
            let rejected = Set(result.rejected.map { SteppedRoute.number($0.line) })
            let left = Set(SteppedRoute.numbers(waitingIn: batches[index]))
            let accepted = before.subtracting(left).subtracting(rejected)
            for key in flushes.keys {
                guard let waiting = flushes[key]?.waiting else { continue }
                flushes[key]?.delivered += waiting.intersection(accepted).count
                flushes[key]?.rejected += waiting.intersection(rejected).count
                flushes[key]?.waiting = waiting.subtracting(accepted).subtracting(rejected)
            }
            table.resolve(batches[index].id, result)
            if batches[index].isResolved { table.remove(batches.remove(at: index).id) }
        }

        /// Ends a flush, and returns whether its report is exact.
        mutating func end() -> Bool {
            guard let (number, expected) = flushes.randomElement() else { return true }
            flushes[number] = nil
            let report = table.flushes.end(number, unreadBytes: 0)
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
                    reports += model.flushes.isEmpty ? 0 : 1
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
        var table = BatchTable()
        let number = table.beginFlush(untaken: 0)
        table.flushes.changed(by: 3)
        let report = table.flushes.end(number, unreadBytes: 7)
        #expect(report.waiting == 3)
        #expect(report.unreadBytes == 7)
    }
}
