import Sluice
import SluiceMemory
import SluiceTesting
import Testing

@Suite struct StoreContractTests {
    @Test("a faulty store without faults passes the contract")
    func faultyStoreWithoutFaultsPasses() async throws {
        try await StoreContract.check { FaultyStore(MemoryStore()) }
    }

    @Test("a persistent store passes the contract")
    func persistentStorePasses() async throws {
        let place = Place()
        try await StoreContract.check(reopen: { LastingStore(at: place, isEmpty: false) }) {
            LastingStore(at: place, isEmpty: true)
        }
    }

    @Test("the broken store without a defect passes the contract, so a defect is the reason of each failure")
    func storeWithoutDefectPasses() async throws {
        try await StoreContract.check { BrokenStore(.none) }
    }

    @Test("every broken promise is found", arguments: BrokenStore.Defect.allCases.dropFirst())
    func everyBrokenPromiseIsFound(defect: BrokenStore.Defect) async throws {
        let error = await #expect(throws: SluiceError.self) {
            try await StoreContract.check { BrokenStore(defect) }
        }
        #expect(error?.code == .brokenContract, "\(defect): \(String(describing: error))")
    }

    @Test(
        "a store that doesn't survive its process well is found",
        arguments: [LastingStore.Defect.losesOne, .keepsSilent])
    func badlyPersistentStoreIsFound(defect: LastingStore.Defect) async throws {
        let place = Place()
        let error = await #expect(throws: SluiceError.self) {
            try await StoreContract.check(reopen: { LastingStore(at: place, isEmpty: false, defect) }) {
                LastingStore(at: place, isEmpty: true)
            }
        }
        #expect(error?.code == .brokenContract)
    }
}

/// Breaks one promise, and keeps the others as well as a MemoryStore does.
final class BrokenStore: Store {
    enum Defect: CaseIterable {
        case none
        case opensTwice, altersBytes, reversesOrder, ignoresPriority, handsOutAgain, neverForgets
        case overcountsBacklog, overlooksHandedOut, givesEmptyBatches, losesSilently, takesAfterClose, namesWrongError
        case repeatsIDs, ignoresSmallSizes, keepsRejected, emptiesOnClose
    }

    private let defect: Defect
    private let base = MemoryStore()
    private struct State {
        var observer: StoreObserver?
        var appended = 0
        var isClosed = false
        var last: Batch?
        var handedOut = 0
        var rejected = 0
    }
    private let state = Locked(State())

    init(_ defect: Defect) { self.defect = defect }

    func open(_ observer: StoreObserver, in environment: PipelineEnvironment) throws(SluiceError) {
        let isOpen = state.withLock { state in
            defer { state.observer = observer }
            return state.observer != nil
        }
        if isOpen, defect == .opensTwice { return }
        try base.open(observer, in: environment)
    }

    func append(_ line: EventLine) throws(SluiceError) {
        let (count, isClosed) = state.withLock { state in
            state.appended += 1
            return (state.appended, state.isClosed)
        }
        if isClosed, defect == .takesAfterClose { return }
        if isClosed, defect == .namesWrongError { throw SluiceError(.inputOutput, "no") }
        if defect == .losesSilently, count == 50 { return }
        if defect == .altersBytes, count == 7 {
            let bytes = line.bytes.dropLast() + [UInt8(ascii: " "), UInt8(ascii: "}")]
            return try base.append(EventLine(bytes: bytes, priority: line.priority))
        }
        if defect == .ignoresPriority {
            return try base.append(EventLine(bytes: line.bytes, priority: .normal))
        }
        try base.append(line)
    }

    func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? {
        if defect == .ignoresSmallSizes, size.events == 1 { return nil }
        let last = state.withLock { state in
            defer { state.last = nil }
            return state.last
        }
        if defect == .handsOutAgain, let last { return last }
        guard let batch = try base.nextBatch(size) else {
            return defect == .givesEmptyBatches ? Batch(id: 0, events: []) : nil
        }
        state.withLock { state in
            state.last = batch
            state.handedOut += batch.events.count
        }
        switch defect {
        case .reversesOrder: return Batch(id: batch.id, events: batch.events.reversed())
        case .repeatsIDs: return Batch(id: 1, events: batch.events)
        default: return batch
        }
    }

    func reject(_ letters: [DeadLetter], in batch: Batch.ID) {
        if defect == .keepsRejected { state.withLock { $0.rejected += letters.count } }
        base.reject(letters, in: batch)
    }

    func deadLetters() throws(SluiceError) -> [DeadLetter] { try base.deadLetters() }

    func replayDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int { try base.replayDeadLetters(ids) }

    func discardDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int { try base.discardDeadLetters(ids) }

    func settle(_ batch: Batch.ID) throws(SluiceError) {
        if defect == .neverForgets { return }
        try base.settle(batch)
    }

    var backlog: Backlog {
        var backlog = base.backlog
        if defect == .emptiesOnClose, state.withLock({ $0.isClosed }) { return Backlog(events: 0, bytes: 0) }
        if defect == .overcountsBacklog, backlog.events > 0 { backlog.events += 1 }
        backlog.events += state.withLock { $0.rejected }
        if defect == .overlooksHandedOut { backlog.events = max(0, backlog.events - state.withLock { $0.handedOut }) }
        return backlog
    }

    func close() {
        state.withLock { $0.isClosed = true }
        base.close()
    }
}

/// The storage of a persistent store.
final class Place: Sendable {
    let lines = Locked<[EventLine]>([])
}

/// A store whose lines survive it.
final class LastingStore: Store {
    enum Defect { case none, losesOne, keepsSilent }

    private let place: Place
    private let defect: Defect
    private let base = MemoryStore()

    init(at place: Place, isEmpty: Bool, _ defect: Defect = .none) {
        self.place = place
        self.defect = defect
        if isEmpty { place.lines.withLock { $0 = [] } }
    }

    func open(_ observer: StoreObserver, in environment: PipelineEnvironment) throws(SluiceError) {
        try base.open(observer, in: environment)
        let left = place.lines.withLock { $0 }.dropFirst(defect == .losesOne ? 1 : 0)
        for line in left { try base.append(line) }
        if defect != .keepsSilent { observer.recovered(left.count) }
    }

    func append(_ line: EventLine) throws(SluiceError) {
        try base.append(line)
        place.lines.withLock { $0.append(line) }
    }

    func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? {
        try base.nextBatch(size)
    }
    func settle(_ batch: Batch.ID) throws(SluiceError) {
        try base.settle(batch)
    }
    var backlog: Backlog { base.backlog }
    func close() { base.close() }
}
