import Sluice
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceJSONL

struct CapacityTests: StoreSuite {
    let directory = TemporaryDirectory()
    let files = FaultyFileSystem()
    private let lineBytes = EventLine(100, padding: 1_000).bytes.count + 18
    /// Of 80 lines, in segments of 10.
    private var capacity: Int { lineBytes * 80 }

    /// Lines of 1,000 bytes and numbers of three digits, all of the same length.
    private func line(_ number: Int, _ priority: Event.Priority = .normal) -> EventLine {
        EventLine(100 + number, priority, padding: 1_000 - (priority == .critical ? 2 : 0))
    }

    private func numbers(_ texts: [String]) -> [Int] {
        texts.compactMap { Int($0.dropFirst(7).prefix(3)) }.map { $0 - 100 }
    }

    @Test("the lower priority is evicted first, its open segment too, and a normal event never evicts critical ones")
    func lowerPriorityIsEvictedFirst() throws {
        let store = try opened(capacity: capacity)
        for number in 0..<45 { try store.append(line(number, .critical)) }
        for number in 45..<80 { try store.append(line(number)) }
        #expect(store.dropped.isEmpty)
        for number in 80..<115 { try store.append(line(number, .critical)) }
        #expect(store.dropped == [.evicted: 35])
        expectError(.storageFull) { try store.append(line(115)) }
        #expect(store.dropped == [.evicted: 35])
        try store.append(line(116, .critical))
        #expect(store.dropped == [.evicted: 45])
        store.expectConservation()
        #expect(numbers(try store.drain()) == Array(10..<45) + Array(80..<115) + [116])
    }

    @Test("nothing is evicted if evicting everything would not be enough, or for an event larger than the capacity")
    func nothingIsEvictedInVain() throws {
        let store = try opened(capacity: capacity)
        for number in 0..<25 { try store.append(line(number)) }
        for number in 25..<80 { try store.append(line(number, .critical)) }
        expectError(.storageFull) { try store.append(EventLine(80, padding: lineBytes * 30)) }
        expectError(.eventTooLarge) { try store.append(EventLine(81, padding: capacity)) }
        #expect(store.dropped.isEmpty)
        #expect(try store.drain().count == 80)
    }

    @Test("segments of an earlier process are evicted before newer ones, and counted")
    func earlierSegmentsAreEvictedFirst() throws {
        let earlier = try opened(capacity: capacity)
        for number in 0..<40 { try earlier.append(line(number)) }
        let store = try reopened(earlier, capacity: capacity)
        for number in 40..<95 { try store.append(line(number)) }
        #expect(store.dropped == [.evicted: 20])
        #expect(store.recovered == 20)
        store.expectConservation()
        #expect(numbers(try store.drain()) == Array(20..<95))
    }

    @Test(
        "if no file can be removed, an event is refused; a settled file still counts, and goes before others are evicted",
        arguments: [false, true])
    func refusesEventIfNothingCanBeRemoved(isSettled: Bool) throws {
        let store = try opened(capacity: capacity)
        for number in 0..<80 { try store.append(line(number)) }
        files.fail(.removeFile, with: .accessDenied)
        if isSettled {
            let batch = try #require(try store.nextBatch())
            expectError(.inputOutput) { try store.settle(batch) }
        }
        expectError(.storageFull) { try store.append(line(80)) }
        #expect(store.dropped.isEmpty)
        files.heal()
        try store.append(line(81))
        #expect(store.dropped == (isSettled ? [:] : [.evicted: 10]))
        #expect(try directory.bytes() <= capacity)
        store.expectConservation()
    }
}
