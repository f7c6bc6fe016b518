import Sluice
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceJSONL

extension Timestamp {
    /// The date of dead letters.
    static let sample = Timestamp(milliseconds: 1_767_225_600_000)
}

/// A suite of tests of stores in a directory of its own.
protocol StoreSuite {
    associatedtype Files: FileSystem = SystemFileSystem

    var directory: TemporaryDirectory { get }
    var files: Files { get }
    var environment: PipelineEnvironment { get }
}

/// A suite whose stores have a clock that only its tests move.
protocol TimedStoreSuite: StoreSuite {
    var time: VirtualTime { get }
}

extension TimedStoreSuite {
    var environment: PipelineEnvironment { time.environment }
}

extension StoreSuite where Files == SystemFileSystem {
    var files: Files { SystemFileSystem() }
}

extension StoreSuite {
    var environment: PipelineEnvironment { PipelineEnvironment() }

    func opened(
        _ durability: JSONLStore.Durability = .process, capacity: Int = 10_485_760, maximumAge: Duration = .days(25),
        encryption: LineEncryption? = nil, in place: TemporaryDirectory? = nil
    ) throws -> TestedStore {
        try .opened(
            JSONLStore(
                at: (place ?? directory).path, durability: durability, capacity: capacity, maximumAge: maximumAge,
                encryption: encryption, files: files), in: environment, keeping: place)
    }

    /// Closes a store, and opens the one of the next process.
    func reopened(
        _ store: TestedStore, _ durability: JSONLStore.Durability = .process, capacity: Int = 10_485_760,
        encryption: LineEncryption? = nil, in place: TemporaryDirectory? = nil
    ) throws -> TestedStore {
        store.store.close()
        return try opened(durability, capacity: capacity, encryption: encryption, in: place)
    }

    /// Opens the store of a later process, in a copy of the directory, as if the present process had been killed now.
    func openedAfterKill(
        in place: TemporaryDirectory? = nil, maximumAge: Duration = .days(25), encryption: LineEncryption? = nil
    ) throws -> TestedStore {
        let copy = try (place ?? directory).copy()
        let store = JSONLStore(at: copy.path, maximumAge: maximumAge, encryption: encryption)
        return try .opened(store, in: environment, keeping: copy)
    }

    /// What a later process finds if the present one is killed now. It loses nothing.
    func afterKill(
        _ encryption: LineEncryption? = nil, _ location: SourceLocation = #_sourceLocation
    ) throws -> (waiting: [Int], letters: [Int]) {
        let store = try openedAfterKill(encryption: encryption)
        let letters = try store.store.deadLetters().compactMap(\.number)
        let waiting = try store.drainNumbers()
        #expect(store.dropped.isEmpty && store.deadLettersDropped.isEmpty, sourceLocation: location)
        #expect(store.recovered == waiting.count, sourceLocation: location)
        store.expectConservation(location)
        return (waiting, letters)
    }
}

/// A store and everything that it has reported, so that conservation can be checked at any time.
final class TestedStore: Sendable {
    private struct Counts {
        var appended = 0
        var recovered = 0
        var unreadBytes = 0
        var settled = 0
        var dropped: [DropReason: Int] = [:]
        var deadLettersDropped: [DropReason: Int] = [:]
        var notes: [String] = []
        var sizes: [Batch.ID: Int] = [:]
        var erased = 0
    }

    let store: JSONLStore
    /// A directory that lives as long as this object.
    private let place: TemporaryDirectory?
    private let counts = Locked(Counts())

    /// The size of the files whose events the store has not counted.
    var unreadBytes: Int { counts.withLock(\.unreadBytes) }

    init(_ store: JSONLStore, keeping place: TemporaryDirectory? = nil) {
        (self.store, self.place) = (store, place)
    }

    /// Creates and opens one.
    static func opened(
        _ store: JSONLStore, in environment: PipelineEnvironment = PipelineEnvironment(),
        keeping place: TemporaryDirectory? = nil
    ) throws -> TestedStore {
        let tested = TestedStore(store, keeping: place)
        try tested.open(in: environment)
        return tested
    }

    func open(in environment: PipelineEnvironment = PipelineEnvironment()) throws(SluiceError) {
        let counts = counts
        try store.open(
            StoreObserver(
                onRecovered: { count in counts.withLock { $0.recovered += count } },
                onUnread: { bytes in counts.withLock { $0.unreadBytes = bytes } },
                onDropped: { count, reason in counts.withLock { $0.dropped[reason, default: 0] += count } },
                onDeadLettersDropped: { count, reason in
                    counts.withLock { $0.deadLettersDropped[reason, default: 0] += count }
                },
                onNote: { note in counts.withLock { $0.notes.append(note) } }), in: environment)
    }

    /// - Parameter isOptional: whether a refusal doesn't matter.
    func append(_ line: EventLine, isOptional: Bool = false) throws(SluiceError) {
        do throws(SluiceError) {
            try store.append(line)
        } catch {
            if isOptional { return }
            throw error
        }
        counts.withLock { $0.appended += 1 }
    }

    /// - Returns: the errors by index.
    func append(contentsOf lines: [EventLine]) -> [Int: SluiceError] {
        let errors = store.append(contentsOf: lines)
        counts.withLock { $0.appended += lines.count - errors.count }
        return errors
    }

    /// Takes the next batch. Each event of the store is accounted for then.
    func nextBatch(
        events: Int = 500, bytes: Int = .max, _ location: SourceLocation = #_sourceLocation
    ) throws(SluiceError) -> Batch? {
        let batch = try store.nextBatch(BatchSize(events: events, bytes: bytes))
        if let batch { counts.withLock { $0.sizes[batch.id] = batch.events.count } }
        expectConservation(location)
        return batch
    }

    /// Settles a batch. Each event of the store is accounted for then.
    func settle(
        _ batch: Batch, rejected: [DeadLetter] = [], _ location: SourceLocation = #_sourceLocation
    ) throws(SluiceError) {
        counts.withLock { $0.settled += $0.sizes.removeValue(forKey: batch.id) ?? 0 }
        if !rejected.isEmpty { store.reject(rejected, in: batch.id) }
        try store.settle(batch.id)
        expectConservation(location)
    }

    /// Appends events, and takes the next batch.
    func batch(_ lines: [EventLine]) throws -> Batch {
        for line in lines { try append(line) }
        return try #require(try nextBatch())
    }

    func batch(of numbers: some Sequence<Int>) throws -> Batch { try batch(numbers.map { .canonical($0) }) }

    /// Appends events one after another, and makes a dead letter of each.
    func rejectEach(_ numbers: Range<Int>) throws {
        for number in numbers {
            try append(EventLine(number))
            try rejectFirst()
        }
    }

    /// Takes the next batch, and settles it with a dead letter of its first event.
    func rejectFirst() throws {
        let batch = try #require(try nextBatch())
        try settle(batch, rejected: [batch.rejected("no")[0]])
    }

    func erase(where isMatch: @escaping @Sendable (EventLine) -> Bool) throws(SluiceError) -> ErasureReport {
        let report = try store.erase(where: isMatch)
        counts.withLock { $0.erased += report.events }
        return report
    }

    /// Settles all waiting events, and returns them in order.
    func drainLines(_ location: SourceLocation = #_sourceLocation) throws(SluiceError) -> [EventLine] {
        var lines: [EventLine] = []
        while let batch = try nextBatch(location) {
            lines += batch.events
            try settle(batch, location)
        }
        return lines
    }

    func drain(_ location: SourceLocation = #_sourceLocation) throws(SluiceError) -> [String] {
        try drainLines(location).map(\.text)
    }

    func drainNumbers(_ location: SourceLocation = #_sourceLocation) throws(SluiceError) -> [Int] {
        try drainLines(location).compactMap(\.number)
    }

    /// Replays dead letters, which then wait like new events.
    func replay(_ ids: some Sequence<DeadLetter.ID>) throws(SluiceError) -> Int {
        let count = try store.replayDeadLetters(Set(ids))
        counts.withLock { $0.appended += count }
        return count
    }

    /// Deletes dead letters.
    func discard(_ ids: some Sequence<DeadLetter.ID>) throws(SluiceError) -> Int {
        try store.discardDeadLetters(Set(ids))
    }

    /// The dead letters, oldest first.
    func letters() throws(SluiceError) -> [DeadLetter] { try store.deadLetters() }

    var recovered: Int { counts.withLock { $0.recovered } }
    var dropped: [DropReason: Int] { counts.withLock { $0.dropped } }
    var deadLettersDropped: [DropReason: Int] { counts.withLock { $0.deadLettersDropped } }
    var notes: [String] { counts.withLock { $0.notes } }

    /// The number of waiting events according to the reports. It must be that of ``JSONLStore/backlog``.
    var waiting: Int {
        counts.withLock {
            $0.appended + $0.recovered - $0.settled - $0.erased - $0.dropped.values.reduce(0, +)
        }
    }

    func expectConservation(_ location: SourceLocation = #_sourceLocation) {
        #expect(store.backlog.events == waiting, sourceLocation: location)
    }
}

/// Expects an error with a code, and with a text in its message.
func expectError<Value>(
    _ code: SluiceError.Code, says text: String = "", _ location: SourceLocation = #_sourceLocation,
    _ body: () throws -> Value
) {
    let error = #expect(throws: SluiceError.self, sourceLocation: location) { _ = try body() }
    #expect(error?.code == code, sourceLocation: location)
    #expect(text.isEmpty || error?.message.contains(text) == true, "\(error?.message ?? "")", sourceLocation: location)
}

extension Batch {
    var texts: [String] { events.map(\.text) }
}

extension EventLine {
    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// A small line with a number.
    init(_ number: Int, _ priority: Event.Priority = .normal, padding: Int = 0) {
        let pad = String(repeating: "x", count: padding)
        let text = #"{"id":"\#(number)","priority":"\#(priority)","pad":"\#(pad)"}"#
        self.init(bytes: Array(text.utf8)[...], priority: priority)
    }
}

func texts(_ numbers: some Sequence<Int>, _ priority: Event.Priority = .normal, padding: Int = 0) -> [String] {
    numbers.map { EventLine($0, priority, padding: padding).text }
}

extension VirtualTime {
    /// Moves only the wall clock, like a user who changes it.
    func moveWallTime(by duration: Duration) {
        setWallTime(Timestamp(milliseconds: wallTime().milliseconds + duration.wholeMilliseconds))
    }

    var environment: PipelineEnvironment { PipelineEnvironment(time: self) }
}

extension Duration {
    static func days(_ count: Int) -> Duration { .seconds(count * 86_400) }
}

extension TemporaryDirectory {
    private static let system = SystemFileSystem()

    /// The sorted relative paths of all files except locks. Leaves out files that a store removes during the listing.
    func files() throws -> [String] {
        func walk(_ path: String) throws(FileError) -> [String] {
            var files: [String] = []
            for name in try TemporaryDirectory.system.list(path) {
                let child = "\(path)/\(name)"
                do {
                    let isDirectory = try TemporaryDirectory.system.status(of: child).kind == .directory
                    files += isDirectory ? try walk(child) : [child]
                } catch {
                    if error != .noSuchFile { throw error }
                }
            }
            return files
        }
        return try walk(path).filter { !$0.hasSuffix("/lock") }.map { String($0.dropFirst(path.count + 1)) }.sorted()
    }

    /// The size of all files except locks.
    func bytes() throws -> Int { try files().reduce(0) { try $0 + read($1).count } }

    /// The segments of waiting events.
    func segments() throws -> [String] {
        try files().filter { !$0.contains("/rejected-") && !$0.hasSuffix(SpareFiles.suffix) }
    }

    /// Copies the files as they are at this moment. No process holds the locks of the copy.
    func copy() throws -> TemporaryDirectory {
        let other = TemporaryDirectory()
        for name in try files() { try other.write(try read(name), to: name) }
        return other
    }

    /// The segments of dead letters.
    func letterFiles() throws -> [String] {
        try files().filter { $0.contains("/rejected-") }
    }

    /// Leaves events behind, like a process that has ended.
    func leave(_ lines: [EventLine], encryption: LineEncryption? = nil) throws {
        try leaveSideBySide([lines], encryption: encryption)
    }

    /// Leaves the directories of processes that ran at the same time, with the events of a group each.
    func leaveSideBySide(_ groups: [[EventLine]], encryption: LineEncryption? = nil) throws {
        let stores = try groups.map { _ in try TestedStore.opened(JSONLStore(at: path, encryption: encryption)) }
        for (store, lines) in zip(stores, groups) { for line in lines { try store.append(line) } }
        for store in stores { store.store.close() }
    }

    func append(_ text: String, to name: String) throws {
        let file = try OpenFile("\(path)/\(name)", [.write, .append], in: TemporaryDirectory.system)
        try file.write(Array(text.utf8)[...])
    }

    func rename(_ name: String, to newName: String) throws {
        try TemporaryDirectory.system.rename("\(path)/\(name)", to: "\(path)/\(newName)")
    }
}
