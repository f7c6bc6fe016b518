import Sluice
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceJSONL

/// Events that are appended together.
@Suite
struct TogetherTests {
    private let directory: TemporaryDirectory
    private let files = FaultyFileSystem()

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func opened(_ durability: JSONLStore.Durability = .process) throws -> TestedStore {
        try .opened(JSONLStore(at: directory.path, durability: durability, files: files))
    }

    private func lines(_ numbers: Range<Int>, _ priority: Event.Priority = .normal, padding: Int = 0) -> [EventLine] {
        numbers.map { EventLine($0, priority, padding: padding) }
    }

    @Test("events that are appended together are one write, and all of them survive the process")
    func eventsAreOneWrite() throws {
        let store = try opened()
        let opening = files.calls(.write)
        #expect(store.append(contentsOf: lines(0..<100)).isEmpty)
        #expect(files.calls(.write) == opening + 1)
        store.expectConservation()
        let copy = try TemporaryDirectory()
        try directory.copy(to: copy)
        let next = try TestedStore.opened(JSONLStore(at: copy.path))
        #expect(try next.drain() == texts(0..<100))
        #expect(try store.drain() == texts(0..<100))
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

    @Test("each segment is one write, and has its usual size")
    func eachSegmentIsOneWrite() throws {
        let store = try opened()
        let opening = files.calls(.write)
        #expect(store.append(contentsOf: lines(0..<1_200, padding: 200)).isEmpty)
        #expect(files.calls(.write) == opening + 3)
        store.expectConservation()
        #expect(try store.nextBatch()?.events.count == 500)
        #expect(try store.nextBatch()?.events.count == 500)
        #expect(try store.nextBatch()?.texts == texts(1_000..<1_200, padding: 200))
    }

    @Test("priorities that alternate need one write each")
    func alternatingPrioritiesNeedOneWriteEach() throws {
        let store = try opened()
        let opening = files.calls(.write)
        #expect(store.append(contentsOf: (0..<60).map { EventLine($0, $0 % 2 == 0 ? .critical : .normal) }).isEmpty)
        #expect(files.calls(.write) == opening + 2)
    }

    @Test("priorities may alternate", arguments: [JSONLStore.Durability.process, .buffered, .full])
    func prioritiesMayAlternate(durability: JSONLStore.Durability) throws {
        let store = try opened(durability)
        let mixed = (0..<60).map { EventLine($0, $0.isMultiple(of: 3) ? .critical : .normal) }
        #expect(store.append(contentsOf: mixed).isEmpty)
        let critical = mixed.filter { $0.priority == .critical }.map(\.text)
        let normal = mixed.filter { $0.priority == .normal }.map(\.text)
        #expect(try store.drain() == critical + normal)
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
            store.store.close()
            let next = try opened()
            #expect(try next.drain() == texts(Array(0..<fitting) + [5, 6, 7]))
            #expect(next.dropped.isEmpty)
            next.store.close()
        }
    }

    @Test("a store that is full evicts its oldest segments for events that are appended together")
    func fullStoreEvicts() throws {
        let store = try TestedStore.opened(JSONLStore(at: directory.path, capacity: 20_000, files: files))
        for first in stride(from: 0, to: 1_000, by: 100) {
            #expect(store.append(contentsOf: lines(first..<first + 100)).isEmpty)
            // Ends the segment, and leaves it to a later attempt.
            _ = try store.nextBatch(events: 20)
            store.expectConservation()
        }
        #expect(store.store.backlog.bytes <= 20_000)
    }

    @Test("a deleted directory is made again for events that are appended together")
    func deletedDirectoryIsMadeAgain() throws {
        let time = VirtualTime()
        let store = try TestedStore.opened(
            JSONLStore(at: "\(directory.path)/root", files: files), in: time.environment)
        #expect(store.append(contentsOf: lines(0..<10)).isEmpty)
        directory.remove("root")
        time.advance(by: .milliseconds(1))
        #expect(store.append(contentsOf: lines(10..<20)).isEmpty)
        #expect(store.dropped == [.vanished: 10])
        store.expectConservation()
        #expect(try store.drain() == texts(10..<20))
    }

    @Test("a closed store refuses each of the events")
    func closedStoreRefusesAll() throws {
        let store = try opened()
        store.store.close()
        let errors = store.store.append(contentsOf: lines(0..<3))
        #expect(errors.mapValues(\.code) == [0: .shutDown, 1: .shutDown, 2: .shutDown])
    }
}
