import Sluice
import SluiceJSONL

/// The real store, with its every move noted in the books.
final class ObservedStore: Store, UnreadDeleting {
    private let base: JSONLStore
    private let life: Int
    private let durability: JSONLStore.Durability
    private let process: SimulatedProcess
    private let books: Books
    private let time: any TimeSource
    private let incoming: Locked<[EventLine]>

    /// - Parameter incoming: takes the events that are being appended.
    init(
        _ base: JSONLStore, life: Int, durability: JSONLStore.Durability, process: SimulatedProcess, books: Books,
        time: any TimeSource, incoming: Locked<[EventLine]>
    ) {
        self.incoming = incoming
        self.base = base
        self.life = life
        self.durability = durability
        self.process = process
        self.books = books
        self.time = time
    }

    func open(_ observer: StoreObserver, in environment: PipelineEnvironment) throws(SluiceError) {
        try process.use { () throws(SluiceError) in try base.open(observer, in: environment) }
    }

    func append(_ line: EventLine) throws(SluiceError) {
        incoming.withLock { $0 = [line] }
        defer { incoming.withLock { $0 = [] } }
        do throws(SluiceError) {
            try process.use { () throws(SluiceError) in try base.append(line) }
        } catch {
            if let serial = Books.serial(line.bytes), !process.isDead { books.refused(serial, by: process) }
            throw error
        }
        acknowledge(line)
    }

    func append(contentsOf lines: [EventLine]) -> [Int: SluiceError] {
        incoming.withLock { $0 = lines }
        defer { incoming.withLock { $0 = [] } }
        let serials = lines.compactMap { Books.serial($0.bytes) }
        if books.isInFlight(serials, in: life) {
            // The route gives back what the receiver has deferred.
            books.givesBack(serials, in: life)
            let errors = process.use { base.append(contentsOf: lines) }
            if errors.isEmpty, !process.isDead { books.gaveBack(serials, in: life) }
            return errors
        }
        // Before, because an event can be evicted for a later one of the same call.
        for line in lines { acknowledge(line) }
        let errors = process.use { base.append(contentsOf: lines) }
        for (index, line) in lines.enumerated() {
            guard let serial = Books.serial(line.bytes) else { continue }
            if process.isDead || errors[index] != nil { books.withdrawn(serial) }
            if process.isUnreliable { books.excuse { other, _ in other == serial ? "deleted unnoticed" : nil } }
            if errors[index] != nil, !process.isDead { books.refused(serial, by: process) }
        }
        return errors
    }

    private func acknowledge(_ line: EventLine) {
        guard !process.isDead, let serial = Books.serial(line.bytes) else { return }
        books.acknowledged(
            serial,
            Books.Record(
                life: life, priority: line.priority, durability: durability, trackedAt: time.continuousTime(),
                line: Array(line.bytes), process: process,
                // With the directory deleted and the disk out of order, nobody can tell at once.
                excuse: process.isUnreliable ? "deleted unnoticed" : nil))
    }

    func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? {
        let batch = try process.use { () throws(SluiceError) in try base.nextBatch(size) }
        if let batch, !process.isDead { books.handedOut(batch, in: life) }
        return batch
    }

    func deleteUnread() throws(SluiceError) -> ErasureReport {
        books.deletesUnread(true, in: life)
        defer { books.deletesUnread(false, in: life) }
        return try process.use { () throws(SluiceError) in try base.deleteUnread() }
    }

    func reject(_ letters: [DeadLetter], in batch: Batch.ID) {
        if !process.isDead { books.rejects(letters, batch, in: life) }
        process.use { base.reject(letters, in: batch) }
    }

    func deadLetters() throws(SluiceError) -> [DeadLetter] {
        try process.use { () throws(SluiceError) in try base.deadLetters() }
    }

    func replayDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int {
        let letters = try serials(ids)
        let count = try process.use { () throws(SluiceError) in try base.replayDeadLetters(ids) }
        guard !process.isDead else {
            books.mayHaveReplayed(letters)
            return count
        }
        var left: Set<Int> = []
        var isKnown = true
        do throws(SluiceError) {
            // An error may have ended the rest.
            if count < letters.count { left = Set(try serials(ids)) }
        } catch {
            isKnown = false
        }
        books.replays(
            letters.filter { !left.contains($0) }, in: life, isUnsafe: durability == .buffered || !isKnown)
        return count
    }

    func discardDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int {
        if !process.isDead { books.discards(try serials(ids)) }
        return try process.use { () throws(SluiceError) in try base.discardDeadLetters(ids) }
    }

    private func serials(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> [Int] {
        try deadLetters().filter { ids.contains($0.id) }.compactMap { Books.serial($0.line.bytes) }
    }

    func settle(_ places: [Int], of batch: Batch.ID) {
        process.use { base.settle(places, of: batch) }
    }

    func settle(_ batch: Batch.ID) throws(SluiceError) {
        if !process.isDead { books.settles(batch, in: life) }
        do throws(SluiceError) {
            try process.use { () throws(SluiceError) in try base.settle(batch) }
        } catch {
            books.settled(batch, in: life, isGone: false)
            throw error
        }
        books.settled(batch, in: life, isGone: !process.isDead)
    }

    func erase(where isMatch: @escaping @Sendable (EventLine) -> Bool) throws(SluiceError) -> ErasureReport {
        try process.use { () throws(SluiceError) in try base.erase(where: isMatch) }
    }

    var backlog: Backlog { base.backlog }

    var capacity: Int { base.capacity }

    func synchronize(while mayContinue: () -> Bool) throws(SluiceError) {
        try process.use { () throws(SluiceError) in try base.synchronize(while: mayContinue) }
    }

    func close() { process.use { base.close() } }
}
