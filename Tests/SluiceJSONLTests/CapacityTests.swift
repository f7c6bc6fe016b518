import Sluice
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceJSONL

struct CapacityTests {
    private let directory = TemporaryDirectory()
    private let lineBytes = EventLine(100, padding: 1_000).bytes.count + 18

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

    @Test("the lower priority is evicted first, its open segment too, and a normal event never evicts critical ones")
    func lowerPriorityIsEvictedFirst() throws {
        let store = try opened()
        for number in 0..<45 { try store.append(line(number, .critical)) }
        for number in 45..<80 { try store.append(line(number)) }
        #expect(store.dropped.isEmpty)
        for number in 80..<115 { try store.append(line(number, .critical)) }
        #expect(store.dropped == [.evicted: 35])
        let error = #expect(throws: SluiceError.self) { try store.append(line(115)) }
        #expect(error?.code == .storageFull)
        #expect(store.dropped == [.evicted: 35])
        try store.append(line(116, .critical))
        #expect(store.dropped == [.evicted: 45])
        store.expectConservation()
        #expect(numbers(try store.drain()) == Array(10..<45) + Array(80..<115) + [116])
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

    @Test(
        "if no file can be removed, an event is refused; a settled file still counts, and goes before others are evicted",
        arguments: [false, true])
    func refusesEventIfNothingCanBeRemoved(isSettled: Bool) throws {
        let files = FaultyFileSystem()
        let store = try opened(files: files)
        for number in 0..<80 { try store.append(line(number)) }
        files.fail(.removeFile, with: .accessDenied)
        if isSettled {
            let batch = try #require(try store.nextBatch())
            #expect(throws: SluiceError.self) { try store.settle(batch) }
        }
        let error = #expect(throws: SluiceError.self) { try store.append(line(80)) }
        #expect(error?.code == .storageFull)
        #expect(store.dropped.isEmpty)
        files.heal()
        try store.append(line(81))
        #expect(store.dropped == (isSettled ? [:] : [.evicted: 10]))
        #expect(try diskBytes() <= lineBytes * 80)
        store.expectConservation()
    }
}
