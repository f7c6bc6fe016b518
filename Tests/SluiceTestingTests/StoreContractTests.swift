import SluiceMemory
import SluiceTesting
import Testing

@Suite struct StoreContractTests {
    @Test(
        "a store that keeps every promise passes the contract, so a defect is the reason of each failure",
        arguments: [
            ("RecordingStore", { @Sendable in RecordingStore() }),
            ("a broken store without a defect", { @Sendable in BrokenStore(.none) }),
        ] as [(String, @Sendable () -> any Store)])
    func soundStoresPass(name: String, make: @Sendable () -> any Store) async throws {
        try await StoreContract.check(make)
    }

    @Test("a persistent store passes the contract")
    func persistentStorePasses() async throws {
        let place = Place()
        try await StoreContract.check(reopen: { LastingStore(at: place, isEmpty: false) }) {
            LastingStore(at: place, isEmpty: true)
        }
    }

    @Test(
        "every broken promise is found",
        arguments: BrokenStore.Defect.allCases.dropFirst().filter { defect in
            !BrokenStore.Defect.hanging.contains { $0.0 == defect }
        })
    func everyBrokenPromiseIsFound(defect: BrokenStore.Defect) async throws {
        let error = await #expect(throws: SluiceError.self) {
            try await StoreContract.check { BrokenStore(defect) }
        }
        #expect(error?.code == .brokenContract, "\(defect): \(String(describing: error))")
    }

    @Test("every broken promise about a later process is found", arguments: LastingStore.Defect.allCases.dropFirst())
    func badlyPersistentStoreIsFound(defect: LastingStore.Defect) async throws {
        let place = Place()
        let error = await #expect(throws: SluiceError.self) {
            try await StoreContract.check(reopen: { LastingStore(at: place, isEmpty: false, defect) }) {
                // The reopened store of some checks only returns events.
                LastingStore(at: place, isEmpty: true, defect.isOfEarlierProcess ? defect : .none)
            }
        }
        #expect(error?.code == .brokenContract)
        #expect(error?.message.contains(defect.sentence) == true, "\(String(describing: error))")
    }

    @Test("a store that never returns is found, and named by the check", arguments: BrokenStore.Defect.hanging)
    func hangingStoreIsFound(defect: BrokenStore.Defect, check: String) async throws {
        let error = await Hang.run { hang in try await StoreContract.check { BrokenStore(defect, hang) } }
        #expect(error?.message == "a method of the store didn't return, in the check that \(check)")
    }
}

/// Breaks one promise, and keeps the others as well as a MemoryStore does.
final class BrokenStore: Store {
    enum Defect: CaseIterable {
        case none
        case opensTwice, altersBytes, reversesOrder, ignoresPriority, handsOutAgain, neverForgets
        case overcountsBacklog, overlooksHandedOut, givesEmptyBatches, losesSilently, takesAfterClose, namesWrongError
        case mergesEqual, repeatsIDs, ignoresSmallSizes, keepsRejected, emptiesOnClose
        case reversesTogether, swallowsTogether, listsNewestLetterFirst, losesReason, losesResponse, losesDate,
            replaysAll, replaysInFront, discardsAll
        case erasesNothing, erasesAll, erasesSilently, miscountsErased
        case settlesWhole
        case hangsInOpen, hangsInNextBatch, hangsInManyAppends, hangsInClose

        static let hanging: [(Defect, String)] = [
            (.hangsInOpen, "it opens once"), (.hangsInNextBatch, "it keeps order and bytes"),
            (.hangsInManyAppends, "it can be used by eight threads"), (.hangsInClose, "it closes"),
        ]
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
        var replayed = 0
        var lastLine: EventLine?
    }
    private let state = Locked(State())

    private let hang: Hang

    init(_ defect: Defect, _ hang: Hang = Hang()) {
        self.defect = defect
        self.hang = hang
    }

    func open(_ observer: StoreObserver, in environment: PipelineEnvironment) throws(SluiceError) {
        let isOpen = state.withLock { state in
            defer { state.observer = observer }
            return state.observer != nil
        }
        if isOpen, defect == .opensTwice { return }
        if isOpen, defect == .hangsInOpen { hang.wait() }
        try base.open(observer, in: environment)
    }

    func append(_ line: EventLine) throws(SluiceError) {
        let (count, isClosed) = state.withLock { state in
            state.appended += 1
            return (state.appended, state.isClosed)
        }
        if isClosed, defect == .takesAfterClose { return }
        if count > 1_000, defect == .hangsInManyAppends { hang.wait() }
        if isClosed, defect == .namesWrongError { throw SluiceError(.inputOutput, "no") }
        if defect == .losesSilently, count == 50 { return }
        if defect == .mergesEqual {
            let former = state.withLock { state in
                defer { state.lastLine = line }
                return state.lastLine
            }
            if former == line { return }
        }
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
        if defect == .hangsInNextBatch, base.backlog.events > 100 { hang.wait() }
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
        case .replaysInFront where state.withLock({ $0.replayed > 1 }):
            return Batch(id: batch.id, events: batch.events.suffix(1) + batch.events.dropLast())
        default: return batch
        }
    }

    func reject(_ letters: [DeadLetter], in batch: Batch.ID) {
        if defect == .keepsRejected { state.withLock { $0.rejected += letters.count } }
        let kept = letters.map { letter in
            guard [.losesReason, .losesResponse, .losesDate].contains(defect) else { return letter }
            return DeadLetter(
                line: letter.line, reason: defect == .losesReason ? "" : letter.reason,
                date: defect == .losesDate ? Timestamp(milliseconds: 0) : letter.date, status: letter.status,
                response: defect == .losesResponse ? nil : letter.response)
        }
        base.reject(kept, in: batch)
    }

    func append(contentsOf lines: [EventLine]) -> [Int: SluiceError] {
        switch defect {
        case .reversesTogether: base.append(contentsOf: lines.reversed())
        case .swallowsTogether: base.append(contentsOf: Array(lines.dropLast()))
        default: base.append(contentsOf: lines)
        }
    }

    func deadLetters() throws(SluiceError) -> [DeadLetter] {
        let letters = try base.deadLetters()
        return defect == .listsNewestLetterFirst ? letters.reversed() : letters
    }

    func replayDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int {
        state.withLock { $0.replayed += ids.count }
        return try base.replayDeadLetters(defect == .replaysAll ? Set(base.deadLetters().map(\.id)) : ids)
    }

    func discardDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int {
        try base.discardDeadLetters(defect == .discardsAll ? Set(base.deadLetters().map(\.id)) : ids)
    }

    func erase(where isMatch: @escaping @Sendable (EventLine) -> Bool) throws(SluiceError) -> ErasureReport {
        switch defect {
        case .erasesNothing: return ErasureReport()
        case .erasesAll: return try base.erase { _ in true }
        case .erasesSilently:
            _ = try base.erase(where: isMatch)
            return ErasureReport()
        case .miscountsErased:
            let report = try base.erase(where: isMatch)
            return ErasureReport(events: report.events + 1, deadLetters: report.deadLetters)
        default: return try base.erase(where: isMatch)
        }
    }

    func settle(_ places: [Int], of batch: Batch.ID) {
        guard defect == .settlesWhole else { return base.settle(places, of: batch) }
        do throws(SluiceError) {
            try base.settle(batch)
        } catch {
            Issue.record(error)
        }
    }

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
        let isSecond = state.withLock { state in
            defer { state.isClosed = true }
            return state.isClosed
        }
        if isSecond, defect == .hangsInClose { hang.wait() }
        base.close()
    }
}

/// The storage of a persistent store.
final class Place: Sendable {
    struct State {
        var lines: [Int: EventLine] = [:]
        var last = 0
    }

    let state = Locked(State())
}

/// A store whose lines survive it.
final class LastingStore: Store {
    enum Defect: CaseIterable {
        case none, losesOne, keepsSilent, countsTwice, keepsSettled, restartsNumbers, forgetsPriorities, losesInFlight
        case returnsNewOnesFirst, altersBytes, returnsTwice, keepsErased, keepsPartlySettled

        var isOfEarlierProcess: Bool { self == .keepsPartlySettled }

        var sentence: String {
            switch self {
            case .none: ""
            case .losesOne, .restartsNumbers, .losesInFlight:
                "the events of an earlier process must be returned"
            case .returnsNewOnesFirst, .altersBytes: "events must be returned byte for byte"
            case .keepsSilent, .countsTwice: "must be reported as recovered, once each"
            case .keepsSettled, .keepsErased, .keepsPartlySettled: "events that were settled came back"
            case .forgetsPriorities: "critical ones first"
            case .returnsTwice: "an event was returned twice"
            }
        }
    }

    private let place: Place
    private let defect: Defect
    private let base = MemoryStore()
    private let taken = Locked<[Batch.ID: [EventLine]]>([:])

    init(at place: Place, isEmpty: Bool, _ defect: Defect = .none) {
        self.place = place
        self.defect = defect
        if isEmpty { place.state.withLock { $0 = Place.State() } }
    }

    func open(_ observer: StoreObserver, in environment: PipelineEnvironment) throws(SluiceError) {
        try base.open(observer, in: environment)
        if defect == .restartsNumbers { place.state.withLock { $0.last = 0 } }
        let lines = place.state.withLock(\.lines)
        var left = lines.keys.sorted().compactMap { lines[$0] }
        if defect == .losesOne { left = Array(left.dropLast()) }
        if defect == .returnsTwice { left += left.prefix(1) }
        if defect == .returnsNewOnesFirst { left.reverse() }
        for line in left {
            switch defect {
            case .forgetsPriorities: try base.append(EventLine(bytes: line.bytes, priority: .normal))
            case .altersBytes: try base.append(EventLine(bytes: line.bytes + [0x20], priority: line.priority))
            default: try base.append(line)
            }
        }
        if defect != .keepsSilent { observer.recovered(defect == .countsTwice ? left.count * 2 : left.count) }
    }

    func append(_ line: EventLine) throws(SluiceError) {
        try base.append(line)
        place.state.withLock { state in
            state.last += 1
            state.lines[state.last] = line
        }
    }

    func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? {
        let batch = try base.nextBatch(size)
        if let batch {
            taken.withLock { $0[batch.id] = batch.events }
            if defect == .losesInFlight { remove(batch.events) }
        }
        return batch
    }

    func settle(_ places: [Int], of batch: Batch.ID) {
        guard defect != .keepsPartlySettled else { return }
        remove(taken.withLock { taken in places.compactMap { taken[batch]?[$0] } })
    }

    func settle(_ batch: Batch.ID) throws(SluiceError) {
        try base.settle(batch)
        let events = taken.withLock { $0.removeValue(forKey: batch) } ?? []
        if defect != .keepsSettled { remove(events) }
    }

    func erase(where isMatch: @escaping @Sendable (EventLine) -> Bool) throws(SluiceError) -> ErasureReport {
        if defect != .keepsErased { remove(place.state.withLock(\.lines).values.filter(isMatch)) }
        return try base.erase(where: isMatch)
    }

    private func remove(_ events: [EventLine]) {
        let ids = Set(events.map(\.id))
        place.state.withLock { state in state.lines = state.lines.filter { !ids.contains($0.value.id) } }
    }

    var backlog: Backlog { base.backlog }
    func close() { base.close() }
}
