import Sluice
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceJSONL

struct CapacityTests {
    private let directory: TemporaryDirectory
    private let lineBytes = EventLine(100, padding: 1_000).bytes.count + 18

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Lines of 1,000 bytes and numbers of three digits, all of the same length.
    private func line(_ number: Int, _ priority: Event.Priority = .normal) -> EventLine {
        EventLine(100 + number, priority, padding: 1_000 - (priority == .critical ? 2 : 0))
    }

    private func numbers(_ texts: [String]) -> [Int] {
        texts.compactMap { Int($0.dropFirst(7).prefix(3)) }.map { $0 - 100 }
    }

    /// Of 80 lines, in segments of 10.
    private func opened(files: any FileSystem = SystemFileSystem()) throws -> TestedStore {
        try .opened(JSONLStore(at: directory.path, capacity: lineBytes * 80, files: files))
    }

    private func diskBytes() throws -> Int {
        try directory.segments().reduce(0) { try $0 + directory.read($1).count }
    }

    @Test("a full store evicts its oldest segment, and no more than necessary")
    func fullStoreEvictsOldestSegment() throws {
        let store = try opened()
        for number in 0..<80 { try store.append(line(number)) }
        #expect(store.dropped.isEmpty)
        try store.append(line(80))
        #expect(store.dropped == [.evicted: 10])
        store.expectConservation()
        #expect(try diskBytes() <= lineBytes * 80)
        #expect(numbers(try store.drain()) == Array(10...80))
    }

    @Test("the lower priority is evicted first, although it is newer")
    func lowerPriorityIsEvictedFirst() throws {
        let store = try opened()
        for number in 0..<40 { try store.append(line(number, .critical)) }
        for number in 40..<80 { try store.append(line(number)) }
        for number in 80..<105 { try store.append(line(number, .critical)) }
        #expect(store.dropped == [.evicted: 30])
        store.expectConservation()
        #expect(numbers(try store.drain()) == Array(0..<40) + Array(80..<105) + Array(70..<80))
    }

    @Test("a critical event evicts the open segment of normal events")
    func criticalEventEvictsOpenSegment() throws {
        let store = try opened()
        for number in 0..<75 { try store.append(line(number, .critical)) }
        for number in 75..<80 { try store.append(line(number)) }
        try store.append(line(80, .critical))
        #expect(store.dropped == [.evicted: 5])
        #expect(numbers(try store.drain()) == Array(0..<75) + [80])
        store.expectConservation()
    }

    @Test("a normal event never evicts critical ones: it is refused")
    func normalEventNeverEvictsCriticalOnes() throws {
        let store = try opened()
        for number in 0..<80 { try store.append(line(number, .critical)) }
        let error = #expect(throws: SluiceError.self) { try store.append(line(80)) }
        #expect(error?.code == .storageFull)
        #expect(store.dropped.isEmpty)
        try store.append(line(81, .critical))
        #expect(store.dropped == [.evicted: 10])
        store.expectConservation()
    }

    @Test("a batch in flight is never evicted")
    func batchInFlightIsNeverEvicted() throws {
        let store = try opened()
        for number in 0..<80 { try store.append(line(number)) }
        var batches: [Batch] = []
        for _ in 0..<8 { batches.append(try #require(try store.nextBatch())) }
        let error = #expect(throws: SluiceError.self) { try store.append(line(80)) }
        #expect(error?.code == .storageFull)
        #expect(store.dropped.isEmpty)
        try store.settle(batches[5])
        try store.append(line(81))
        #expect(store.dropped.isEmpty)
        for index in [0, 1, 2, 3, 4, 6, 7] { try store.settle(batches[index]) }
        #expect(numbers(try store.drain()) == [81])
        store.expectConservation()
    }

    @Test("nothing is evicted if evicting everything would not be enough")
    func nothingIsEvictedInVain() throws {
        let store = try opened()
        for number in 0..<25 { try store.append(line(number)) }
        for number in 25..<80 { try store.append(line(number, .critical)) }
        let error = #expect(throws: SluiceError.self) { try store.append(EventLine(80, padding: lineBytes * 30)) }
        #expect(error?.code == .storageFull)
        #expect(store.dropped.isEmpty)
        #expect(try store.drain().count == 80)
    }

    @Test("an event larger than the capacity evicts nothing")
    func eventLargerThanCapacityEvictsNothing() throws {
        let store = try opened()
        try store.append(line(0))
        let error = #expect(throws: SluiceError.self) { try store.append(EventLine(0, padding: lineBytes * 80)) }
        #expect(error?.code == .eventTooLarge)
        #expect(numbers(try store.drain()) == [0])
    }

    @Test("the capacity is enforced when the store is opened, and evicted events are counted")
    func capacityIsEnforcedAtOpen() throws {
        try directory.leave((0..<200).map { line($0) } + (200..<210).map { line($0, .critical) })
        let before = try directory.segments().count
        let store = try TestedStore.opened(JSONLStore(at: directory.path, capacity: 215_000))
        #expect(try diskBytes() <= 215_000)
        #expect(before == 2)
        #expect(store.dropped == [.evicted: 200])
        #expect(store.recovered == 200)
        store.expectConservation()
        #expect(numbers(try store.drain()) == Array(200..<210))
        store.expectConservation()
    }

    @Test("segments of an earlier process are evicted before newer ones, and counted")
    func earlierSegmentsAreEvictedFirst() throws {
        let earlier = try opened()
        for number in 0..<40 { try earlier.append(line(number)) }
        earlier.store.close()
        let store = try opened()
        for number in 40..<95 { try store.append(line(number)) }
        #expect(store.dropped == [.evicted: 20])
        #expect(store.recovered == 20)
        store.expectConservation()
        #expect(numbers(try store.drain()) == Array(20..<95))
        store.expectConservation()
    }

    @Test("if no file can be removed, the incoming event is refused and nothing is counted as evicted")
    func refusesEventIfNothingCanBeRemoved() throws {
        let files = FaultyFileSystem()
        let store = try opened(files: files)
        for number in 0..<80 { try store.append(line(number)) }
        files.fail(.removeFile, with: .accessDenied)
        let error = #expect(throws: SluiceError.self) { try store.append(line(80)) }
        #expect(error?.code == .storageFull)
        #expect(store.dropped.isEmpty)
        files.heal()
        try store.append(line(81))
        store.expectConservation()
    }

    @Test("settled files that could not be removed still count, and are removed before anything is evicted")
    func unremovedFilesCountAndGoFirst() throws {
        let files = FaultyFileSystem()
        let store = try opened(files: files)
        for number in 0..<80 { try store.append(line(number)) }
        files.fail(.removeFile, with: .accessDenied)
        let batch = try #require(try store.nextBatch())
        #expect(throws: SluiceError.self) { try store.settle(batch) }
        #expect(throws: SluiceError.self) { try store.append(line(80)) }
        files.heal()
        try store.append(line(81))
        #expect(store.dropped.isEmpty)
        #expect(try diskBytes() <= lineBytes * 80)
        store.expectConservation()
    }

    @Test("the disk never holds more than the capacity", arguments: 0..<20)
    func diskNeverHoldsMoreThanCapacity(seed: UInt64) throws {
        var random = SplitMix(state: seed)
        let capacity = 60_000
        let store = try TestedStore.opened(JSONLStore(at: directory.path, capacity: capacity))
        var batches: [Batch] = []
        for number in 0..<400 {
            let priority: Event.Priority = random.next() % 4 == 0 ? .critical : .normal
            do {
                try store.append(EventLine(number, priority, padding: Int(random.next() % 3_000)))
            } catch {
                #expect(error.code == .storageFull)
            }
            if random.next() % 20 == 0, let batch = try store.nextBatch() { batches.append(batch) }
            if random.next() % 25 == 0, let batch = batches.popLast() { try store.settle(batch) }
            store.expectConservation()
        }
        #expect(try diskBytes() <= capacity)
        for batch in batches { try store.settle(batch) }
        _ = try store.drain()
        store.expectConservation()
        #expect(store.store.backlog.isEmpty)
    }
}

/// A generator whose sequence a seed decides.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
