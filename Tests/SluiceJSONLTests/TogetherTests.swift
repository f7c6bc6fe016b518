import Sluice
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceJSONL

/// Events that are appended together.
struct TogetherTests: StoreSuite {
    let directory = TemporaryDirectory()
    let files = FaultyFileSystem()

    private func lines(_ numbers: Range<Int>, _ priority: Event.Priority = .normal, padding: Int = 0) -> [EventLine] {
        numbers.map { EventLine($0, priority, padding: padding) }
    }

    @Test(
        "events that are appended together are one write for each segment of the usual size, and survive the process",
        arguments: [
            (lines: 100, critical: 0, padding: 0, writes: 1), (1_200, 0, 200, 3),
            // Alternating priorities.
            (60, 2, 0, 2),
        ])
    func eachSegmentIsOneWrite(lines count: Int, critical: Int, padding: Int, writes: Int) throws {
        let lines = (0..<count).map { number in
            EventLine(number, critical > 0 && number % critical == 0 ? .critical : .normal, padding: padding)
        }
        let store = try opened()
        let opening = files.calls(.write)
        #expect(store.append(contentsOf: lines).isEmpty)
        #expect(files.calls(.write) == opening + writes)
        store.expectConservation()
        let expected = (lines.filter { $0.priority == .critical } + lines.filter { $0.priority == .normal }).map(\.text)
        #expect(try openedAfterKill().drain() == expected)
        #expect(try store.nextBatch()?.texts == Array(expected.prefix(critical > 0 ? count / critical : 500)))
        #expect(try store.drain() == Array(expected.dropFirst(critical > 0 ? count / critical : 500)))
    }

    @Test("with full durability, events that are appended together are synchronized once")
    func eventsAreSynchronizedOnce() throws {
        let store = try opened(.full)
        try store.append(EventLine(0))
        let before = files.calls(.synchronize)
        #expect(store.append(contentsOf: lines(1..<100)).isEmpty)
        #expect(files.calls(.synchronize) == before + 1)
        #expect(try store.drain() == texts(0..<100))
    }

    @Test("only the events that can't be stored are refused", arguments: [JSONLStore.Durability.process, .buffered])
    func onlyBadEventsAreRefused(durability: JSONLStore.Durability) throws {
        let store = try opened(durability)
        var mixed = lines(0..<10)
        mixed[3] = EventLine(bytes: Array("{\n}".utf8)[...], priority: .normal)
        mixed[7] = EventLine(7, padding: 1_000_001)
        let errors = store.append(contentsOf: mixed)
        #expect(errors.mapValues(\.code) == [3: .malformedLine, 7: .eventTooLarge])
        #expect(try store.drain() == texts([0, 1, 2, 4, 5, 6, 8, 9]))
    }

    @Test("a disk that fills up takes as many of the events as fit, and each one that it doesn't take is refused")
    func fullDiskTakesWhatFits() throws {
        let length = EventLine(0).bytes.count + 18
        for space in stride(from: 0, to: 6 * length, by: 7) {
            let store = try opened()
            files.limitSpace(to: space)
            let errors = store.append(contentsOf: lines(0..<5))
            let fitting = min(5, space / length)
            #expect(errors.keys.sorted() == Array(fitting..<5), "\(space) bytes")
            #expect(errors.values.allSatisfy { $0.code == .inputOutput })
            store.expectConservation()
            files.heal()
            #expect(store.append(contentsOf: lines(5..<8)).isEmpty)
            let next = try reopened(store)
            #expect(try next.drain() == texts(Array(0..<fitting) + [5, 6, 7]))
            #expect(next.dropped.isEmpty)
            next.store.close()
        }
    }

    @Test("a closed store refuses each of the events")
    func closedStoreRefusesAll() throws {
        let store = try opened()
        store.store.close()
        let errors = store.store.append(contentsOf: lines(0..<3))
        #expect(errors.mapValues(\.code) == [0: .shutDown, 1: .shutDown, 2: .shutDown])
    }
}
