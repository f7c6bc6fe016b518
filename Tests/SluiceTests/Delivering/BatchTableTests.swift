import Testing

@testable import Sluice
@testable import SluiceDelivery

/// The batches that are out: operations and the counts after them.
@Suite struct BatchTableTests {
    /// A batch has as many events as its id.
    enum Operation: Sendable {
        case beginTake, foundNothing
        case take(Int)
        case hold(Int), send(Int), settle(Int), remove(Int)
        case resolve(Int, Int)
        case deferred(Int, until: Int, notBefore: Int = 0)
        case flush
        case takeReady(at: Int)
    }

    struct Counts: Sendable, Equatable {
        var count = 0
        var waiting = 0
        var inFlight = 0
        var workers = 0
        var resolved = 0
        var taken = 0
        var settled = 0
        var isTaking = false
        var isSettling = false
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let operations: [Operation]
        let expected: Counts

        init(_ description: String, _ operations: [Operation], _ expected: Counts) {
            (testDescription, self.operations, self.expected) = (description, operations, expected)
        }
    }

    private static func batch(_ id: Int) -> BatchProgress {
        BatchProgress(Batch(id: UInt64(id), events: (1...id).map { BatchProgressTests.line($0) }))
    }

    private static func accepted(_ count: Int) -> SendResult {
        var result = SendResult()
        result.acceptedPlaces = Array(0..<count)
        return result
    }

    private static func deferredBatch(_ id: Int) -> BatchProgress {
        var batch = batch(id)
        _ = batch.apply(.each(Array(repeating: .retry(after: nil), count: id)), toFirst: id)
        return batch
    }

    private static func table(_ operations: [Operation]) -> BatchTable {
        var table = BatchTable()
        for operation in operations {
            switch operation {
            case .beginTake: table.beginTake()
            case .foundNothing: table.foundNothing()
            case .take(let id):
                table.beginTake()
                table.took(batch(id), size: BatchSize(events: 10, bytes: .max))
            case .hold(let id): table.hold(UInt64(id))
            case .send(let id): table.send(UInt64(id))
            case .settle(let id): table.settle(UInt64(id))
            case .remove(let id): table.remove(UInt64(id))
            case .resolve(let id, let count): table.resolve(UInt64(id), Self.accepted(count))
            case .deferred(let id, let until, let notBefore):
                table.deferBatch(deferredBatch(id), (.seconds(notBefore), .seconds(until)))
            case .flush: table.flush()
            case .takeReady(let now): _ = table.takeReady(at: .seconds(now))
            }
        }
        return table
    }

    static let rows: [Row] = [
        Row("at first", [], Counts()),
        Row("a worker is taking a batch", [.beginTake], Counts(count: 1, inFlight: 1, workers: 1, isTaking: true)),
        Row("it found nothing", [.beginTake, .foundNothing], Counts()),
        Row("it took one", [.take(3)], Counts(count: 1, waiting: 3, inFlight: 1, workers: 1, taken: 3)),
        Row(
            "a worker waits with its batch", [.take(3), .hold(3)],
            Counts(count: 1, waiting: 3, workers: 1, taken: 3)),
        Row(
            "it goes on", [.take(3), .hold(3), .send(3)],
            Counts(count: 1, waiting: 3, inFlight: 1, workers: 1, taken: 3)),
        Row(
            "a worker uses the store", [.take(3), .settle(3)],
            Counts(count: 1, waiting: 3, inFlight: 1, workers: 1, taken: 3, isSettling: true)),
        Row(
            "a part is resolved", [.take(3), .settle(3), .resolve(3, 2)],
            Counts(count: 1, waiting: 1, workers: 1, resolved: 2, taken: 3)),
        Row(
            "all is resolved and removed", [.take(3), .settle(3), .resolve(3, 3), .remove(3)],
            Counts(taken: 3, settled: 3)),
        Row("a batch is deleted", [.take(3), .hold(3), .remove(3)], Counts(taken: 3, settled: 3)),
        Row(
            "two batches", [.take(3), .take(4)],
            Counts(count: 2, waiting: 7, inFlight: 2, workers: 2, taken: 7)),
        Row(
            "the later one is removed first", [.take(3), .take(4), .resolve(4, 4), .remove(4)],
            Counts(count: 1, waiting: 3, inFlight: 1, workers: 1, taken: 7)),
        Row(
            "the first one is removed", [.take(3), .take(4), .resolve(3, 3), .remove(3)],
            Counts(count: 1, waiting: 4, inFlight: 1, workers: 1, taken: 7, settled: 3)),
        Row(
            "a deferred batch has no worker", [.take(3), .resolve(3, 0), .deferred(3, until: 9)],
            Counts(count: 1, waiting: 3, taken: 3)),
        Row(
            "a worker resumes it", [.take(3), .resolve(3, 0), .deferred(3, until: 9), .takeReady(at: 9)],
            Counts(count: 1, waiting: 3, inFlight: 1, workers: 1, taken: 3)),
        Row(
            "not before its time", [.take(3), .deferred(3, until: 9), .takeReady(at: 8)],
            Counts(count: 1, waiting: 3, taken: 3)),
        Row(
            "a flush ends the deferral", [.take(3), .deferred(3, until: 9, notBefore: 5), .flush, .takeReady(at: 5)],
            Counts(count: 1, waiting: 3, inFlight: 1, workers: 1, taken: 3)),
        Row(
            "but not the time that the receiver named",
            [.take(3), .deferred(3, until: 9, notBefore: 5), .flush, .takeReady(at: 4)],
            Counts(count: 1, waiting: 3, taken: 3)),
        Row("a batch that isn't there", [.remove(1), .resolve(2, 0), .settle(3)], Counts()),
    ]

    @Test("operations lead to counts", arguments: rows)
    func operationsLeadToCounts(row: Row) {
        let table = BatchTableTests.table(row.operations)
        let counts = Counts(
            count: table.count, waiting: table.waiting, inFlight: table.inFlight, workers: table.workers,
            resolved: table.resolved, taken: table.taken, settled: table.settled, isTaking: table.isTaking,
            isSettling: table.isSettling)
        #expect(counts == row.expected)
    }

    @Test("deferred batches are resumed in the order of their times, then of their ids")
    func deferredBatchesAreResumedInOrder() {
        var table = BatchTableTests.table([
            .take(4), .take(1), .take(3), .take(2), .deferred(4, until: 7), .deferred(1, until: 9),
            .deferred(3, until: 7), .deferred(2, until: 8),
        ])
        #expect(table.nextReady(after: .seconds(7)) == .seconds(8))
        #expect(!table.hasReady(at: .seconds(6)))
        #expect(table.hasReady(at: .seconds(7)))
        var resumed: [Batch.ID] = []
        while let batch = table.takeReady(at: .seconds(8)) { resumed.append(batch.id) }
        #expect(resumed == [3, 4, 2])
        #expect(table.deferred.map { $0.batch.id } == [1])
    }

    @Test("a resumed batch sends its deferred events, and removing a batch returns those without a verdict")
    func resumedBatchSendsItsEvents() {
        var table = BatchTableTests.table([.take(3), .deferred(3, until: 0)])
        #expect(table.takeReady(at: .zero)?.unresolved.count == 3)
        table.resolve(3, Self.accepted(1))
        let left = table.remove(3)
        #expect(left == 2)
    }
}
