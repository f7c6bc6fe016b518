import Foundation
import GRDB
public import Sluice
import Synchronization

/// A store in an SQLite database, as an example of a store of your own.
///
/// Accepted events survive `kill -9`, and a loss of power once ``synchronize(while:)`` has returned. One process at a time
/// can open the file, which gets the permissions 0600. You can call all methods from any thread.
public final class SQLiteStore: Store {
    private struct State {
        var database: DatabaseQueue?
        var observer: StoreObserver?
        var lastBatch: Batch.ID = 0
        var backlog = Backlog(events: 0, bytes: 0)
        var bytesInFile = 0
        /// Batches whose dead letters could not be written.
        var unwritten: Set<Batch.ID> = []
        /// The rows of the batches that are handed out, in their order.
        var rows: [Batch.ID: [Int64]] = [:]
    }

    private let path: String
    public let capacity: Int
    private let state = Mutex(State())

    /// Creates a store with room for this many bytes of events and dead letters: 10 MiB by default.
    public init(at path: String, capacity: Int = 10_485_760) {
        // A relative path would lead elsewhere when the working directory changes.
        (self.path, self.capacity) = (URL(filePath: path).path, capacity)
    }

    /// Opens the database, and reports the events of earlier processes.
    public func open(_ observer: StoreObserver, in environment: PipelineEnvironment) throws(SluiceError) {
        try state.withLock { state throws(SluiceError) in
            guard state.observer == nil else { throw SluiceError(.invalidPipeline, "this SQLiteStore is in use") }
            var configuration = Configuration()
            configuration.journalMode = .wal
            configuration.prepareDatabase { try $0.execute(sql: "PRAGMA locking_mode = EXCLUSIVE") }
            do {
                if !FileManager.default.fileExists(atPath: path) {
                    try Data().write(to: URL(filePath: path))
                    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
                }
                let database = try DatabaseQueue(path: path, configuration: configuration)
                try database.write { try $0.execute(sql: SQL.schema) }
                (state.database, state.observer) = (database, observer)
            } catch {
                throw SluiceError(.storageUnavailable, "the database can't be used: choose another path", cause: error)
            }
        }
        try run { _, _ in }
        observer.recovered(backlog.events)
    }

    /// Runs statements, and reads the totals. Each statement is a transaction of its own.
    private func run<Result: Sendable>(_ body: (inout State, Database) throws -> Result) throws(SluiceError) -> Result {
        try state.withLock { state throws(SluiceError) in
            guard let database = state.database else { throw SluiceError(.shutDown, "the store is closed") }
            do {
                return try database.writeWithoutTransaction { db in
                    let result = try body(&state, db)
                    guard let totals = try Row.fetchOne(db, sql: "SELECT * FROM totals") else { return result }
                    state.backlog = Backlog(
                        events: totals["events"], bytes: totals["bytes"], deadLetters: totals["dead"])
                    state.bytesInFile = totals["size"]
                    return result
                }
            } catch {
                throw error as? SluiceError ?? SluiceError(.inputOutput, "the database failed", cause: error)
            }
        }
    }

    /// Stores an event. If the store is full, the oldest dead letters make room, and then the oldest events.
    public func append(_ line: EventLine) throws(SluiceError) {
        try run { state, db in
            let priority = line.priority.rawValue
            if state.bytesInFile + line.bytes.count > capacity {
                let others = try Int.fetchOne(db, sql: SQL.sizeOfOthers, arguments: [priority]) ?? 0
                guard others + line.bytes.count <= capacity else {
                    throw SluiceError(.storageFull, "no event may make room for this one")
                }
            }
            while state.bytesInFile + line.bytes.count > capacity,
                let row = try Row.fetchOne(db, sql: SQL.evict, arguments: [priority])
            {
                state.bytesInFile -= row["size"]
                state.observer?.deadLettersDropped(row["dead"] ? 1 : 0, .evicted)
                state.observer?.dropped(row["dead"] ? 0 : 1, .evicted)
            }
            let values: StatementArguments = [priority, Data(line.bytes)]
            try db.execute(sql: "INSERT INTO event (class, line) VALUES (?, ?)", arguments: values)
        }
    }

    /// Returns the next batch. It can have more bytes than requested.
    public func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? {
        try run { state, db in
            let values: StatementArguments = [state.lastBatch + 1, min(size.events, 500)]
            let rows = try Row.fetchAll(db, sql: SQL.take, arguments: values)
            guard !rows.isEmpty else { return nil }
            state.lastBatch += 1
            let sorted = rows.sorted { ($0["seq"] as Int64) < $1["seq"] }
            state.rows[state.lastBatch] = sorted.map { $0["seq"] }
            return Batch(id: state.lastBatch, events: sorted.map(EventLine.init))
        }
    }

    /// Turns events of a batch into dead letters.
    public func reject(_ letters: [DeadLetter], in batch: Batch.ID) {
        do throws(SluiceError) {
            try run { _, db in
                for letter in letters {
                    let values: StatementArguments = [
                        letter.reason, letter.date.milliseconds, letter.status, letter.response,
                    ]
                    try db.execute(sql: SQL.reject, arguments: values + [batch, Data(letter.line.bytes)])
                }
            }
        } catch {
            state.withLock { _ = $0.unwritten.insert(batch) }
        }
    }

    /// Keeps delivered events from a later process. If that fails, the later process delivers them again.
    public func settle(_ places: [Int], of batch: Batch.ID) {
        do throws(SluiceError) {
            try run { state, db in
                let rows = state.rows[batch] ?? []
                for place in places where rows.indices.contains(place) {
                    try db.execute(
                        sql: "UPDATE event SET settled = 1 WHERE seq = ? AND class >= 0", arguments: [rows[place]])
                }
            }
        } catch {
            // The batch is still in the database.
        }
    }

    /// Removes a batch. If its dead letters could not be written, the next process delivers the batch again.
    public func settle(_ batch: Batch.ID) throws(SluiceError) {
        try run { state, db in
            guard !state.unwritten.contains(batch) else { throw SluiceError(.inputOutput, "a dead letter is missing") }
            try db.execute(sql: "DELETE FROM event WHERE batch = ? AND class >= 0", arguments: [batch])
            try db.execute(sql: "UPDATE event SET batch = NULL WHERE batch = ?", arguments: [batch])
            state.rows[batch] = nil
        }
    }

    /// The number and size of the waiting events.
    public var backlog: Backlog { state.withLock { $0.backlog } }

    /// Returns the dead letters, oldest first.
    public func deadLetters() throws(SluiceError) -> [DeadLetter] {
        try run { _, db in
            try Row.fetchAll(db, sql: "SELECT * FROM event WHERE class < 0 ORDER BY date, seq").map { row in
                DeadLetter(
                    id: UInt64(bitPattern: row["seq"]), line: EventLine(row), reason: row["reason"],
                    date: Timestamp(milliseconds: row["date"]), status: row["status"], response: row["response"])
            }
        }
    }

    /// Turns dead letters back into waiting events.
    public func replayDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int {
        try change(ids, "UPDATE event SET class = class + 2, seq = (SELECT max(seq) + 1 FROM event)")
    }

    /// Deletes dead letters.
    public func discardDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int {
        try change(ids, "DELETE FROM event")
    }

    private func change(_ ids: Set<DeadLetter.ID>, _ statement: String) throws(SluiceError) -> Int {
        try run { _, db in
            try ids.sorted().reduce(0) { count, id in
                try db.execute(sql: "\(statement) WHERE seq = ? AND class < 0", arguments: [Int64(bitPattern: id)])
                return count + db.changesCount
            }
        }
    }

    /// Moves the events into the database file, and waits until the drive has them.
    public func synchronize(while mayContinue: () -> Bool) throws(SluiceError) {
        try run { _, db in _ = try db.checkpoint(.truncate) }
    }

    /// Closes the database.
    public func close() { state.withLock { $0.database = nil } }
}

extension EventLine {
    fileprivate init(_ row: Row) {
        let isCritical = [-1, 1].contains(row["class"] as Int)
        self.init(bytes: [UInt8](row["line"] as Data)[...], priority: isCritical ? .critical : .normal)
    }
}
