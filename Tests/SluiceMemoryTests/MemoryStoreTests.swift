import Sluice
import SluiceMemory
import SluiceTesting
import Testing

@Suite struct MemoryStoreTests {
    /// The events and dead letters that a store has evicted.
    private struct Evicted {
        var events = 0
        var deadLetters = 0
    }

    private let evicted = Locked(Evicted())

    private func opened(capacity: Int) throws -> MemoryStore {
        let store = MemoryStore(capacity: capacity)
        let evicted = evicted
        try store.open(
            StoreObserver(
                onRecovered: { _ in },
                onDropped: { count, _ in evicted.withLock { $0.events += count } },
                onDeadLettersDropped: { count, _ in evicted.withLock { $0.deadLetters += count } },
                onNote: { _ in }), in: PipelineEnvironment())
        return store
    }

    /// A line of ten bytes, with a number of four digits.
    private func line(_ number: Int, _ priority: Event.Priority = .normal) -> EventLine {
        EventLine(bytes: Array(#"{"n":\#(number)}"#.utf8)[...], priority: priority)
    }

    private func numbers(of store: MemoryStore) throws -> [Int?] {
        var numbers: [Int?] = []
        while let batch = try store.nextBatch(BatchSize(events: 10, bytes: .max)) {
            numbers += batch.events.map { Int(String(decoding: $0.bytes.dropFirst(5).dropLast(), as: UTF8.self)) }
            try store.settle(batch.id)
        }
        return numbers
    }

    @Test("the store keeps the contract")
    func storeKeepsContract() async throws {
        try await StoreContract.check { MemoryStore() }
    }

    @Test("a full store evicts the oldest normal events, and counts them")
    func oldestEventsAreEvicted() throws {
        let store = try opened(capacity: 30)
        for number in 1001...1005 { try store.append(line(number)) }
        #expect(evicted.withLock(\.events) == 2)
        #expect(store.backlog.events == 3 && store.backlog.bytes == 30)
        #expect(try numbers(of: store) == [1003, 1004, 1005])
    }

    @Test("a critical event evicts normal ones before critical ones")
    func lowestPriorityIsEvictedFirst() throws {
        let store = try opened(capacity: 30)
        try store.append(line(1001, .critical))
        try store.append(line(1002))
        try store.append(line(1003))
        for number in 1004...1006 { try store.append(line(number, .critical)) }
        #expect(evicted.withLock(\.events) == 3)
        #expect(try numbers(of: store) == [1004, 1005, 1006])
    }

    @Test("a normal event never evicts critical ones, and is refused")
    func criticalEventsStay() throws {
        let store = try opened(capacity: 20)
        for number in 1001...1002 { try store.append(line(number, .critical)) }
        let error = #expect(throws: SluiceError.self) { try store.append(line(1003)) }
        #expect(error?.code == .storageFull)
        #expect(evicted.withLock(\.events) == 0)
        #expect(try numbers(of: store) == [1001, 1002])
    }

    @Test("a batch in flight is never evicted")
    func batchInFlightStays() throws {
        let store = try opened(capacity: 20)
        for number in 1001...1002 { try store.append(line(number)) }
        let batch = try #require(try store.nextBatch(BatchSize(events: 10, bytes: .max)))
        #expect(throws: SluiceError.self) { try store.append(line(1003)) }
        try store.settle(batch.id)
        try store.append(line(1004))
        #expect(evicted.withLock(\.events) == 0)
        #expect(try numbers(of: store) == [1004])
    }

    @Test("dead letters are evicted before events, oldest first")
    func deadLettersAreEvictedFirst() throws {
        let store = try opened(capacity: 32)
        for number in 1001...1002 { try store.append(line(number)) }
        let batch = try #require(try store.nextBatch(BatchSize(events: 10, bytes: .max)))
        let letters = batch.events.map { DeadLetter(line: $0, reason: "no", date: Timestamp(milliseconds: 0)) }
        store.reject(letters, in: batch.id)
        try store.settle(batch.id)
        for number in 1003...1004 { try store.append(line(number)) }
        #expect(evicted.withLock(\.deadLetters) == 1 && evicted.withLock(\.events) == 0)
        #expect(try store.deadLetters().map(\.line.bytes) == [line(1002).bytes])
        #expect(try numbers(of: store) == [1003, 1004])
    }

    @Test(
        "the capacity holds for the reasons and the receiver's words too",
        arguments: [(0, 900), (900, 0), (500, 500)])
    func wordsCount(reason: Int, response: Int) throws {
        let store = try opened(capacity: 10_000)
        for number in 1001...1050 { try store.append(line(number)) }
        let batch = try #require(try store.nextBatch(BatchSize(events: 50, bytes: .max)))
        let (reason, response) = (String(repeating: "n", count: reason), String(repeating: "o", count: response))
        let letters = batch.events.map {
            DeadLetter(line: $0, reason: reason, date: Timestamp(milliseconds: 0), response: response)
        }
        store.reject(letters, in: batch.id)
        try store.settle(batch.id)
        let kept = 10_000 / (10 + reason.utf8.count + response.utf8.count)
        #expect(try store.deadLetters().map(\.line.bytes) == letters.suffix(kept).map(\.line.bytes))
        #expect(evicted.withLock(\.deadLetters) == 50 - kept)
    }

    @Test("an event that is larger than the store is refused, and nothing is evicted for it")
    func tooLargeEventIsRefused() throws {
        let store = try opened(capacity: 15)
        try store.append(line(1001))
        let large = EventLine(bytes: Array(repeating: UInt8(ascii: "x"), count: 16)[...], priority: .critical)
        let error = #expect(throws: SluiceError.self) { try store.append(large) }
        #expect(error?.code == .eventTooLarge)
        #expect(try numbers(of: store) == [1001])
    }

    @Test("a capacity that holds no event is an error when the store is opened", arguments: [0, -1, Int.min])
    func invalidCapacityThrows(capacity: Int) {
        let error = #expect(throws: SluiceError.self) { try opened(capacity: capacity) }
        #expect(error?.code == .invalidArgument)
    }
}
