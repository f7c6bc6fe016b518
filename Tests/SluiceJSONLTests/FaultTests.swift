import Sluice
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceJSONL

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#endif

struct FaultTests {
    private let directory: TemporaryDirectory
    private let files = FaultyFileSystem()

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func opened(_ durability: JSONLStore.Durability = .process) throws -> TestedStore {
        try .opened(JSONLStore(at: directory.path, durability: durability, files: files))
    }

    @Test("short writes are continued to the newline", arguments: [1, 7, 60])
    func shortWritesAreContinued(limit: Int) throws {
        let store = try opened()
        files.limitWrites(to: limit)
        for number in 0..<20 { try store.append(EventLine(number)) }
        #expect(try store.drain() == texts(0..<20))
    }

    @Test("a disk that fills up within a line leaves no torn line, and the next process finds all accepted events")
    func fullDiskLeavesNoTornLine() throws {
        let length = EventLine(0).bytes.count + 18
        for space in stride(from: 0, to: 3 * length, by: 5) {
            let store = try opened()
            files.limitSpace(to: space)
            var accepted: [Int] = []
            for number in 0..<5 {
                do {
                    try store.append(EventLine(number))
                    accepted.append(number)
                } catch {
                    #expect(error.code == .inputOutput)
                }
            }
            #expect(accepted.count == space / length)
            files.heal()
            try store.append(EventLine(5))
            store.expectConservation()
            for name in try directory.segments() {
                #expect(try directory.read(name).last == LineFormat.newline)
            }
            store.store.close()
            let next = try opened()
            #expect(try next.drain() == texts(accepted + [5]))
            #expect(next.dropped.isEmpty)
            next.store.close()
        }
    }

    @Test("a line that could not be cut off is not delivered by this process, and counted by the next")
    func uncutLineIsNotDelivered() throws {
        let store = try opened()
        try store.append(EventLine(0))
        files.limitSpace(to: 10)
        files.fail(.truncate, with: .inputOutput)
        #expect(throws: SluiceError.self) { try store.append(EventLine(1)) }
        files.heal()
        let copy = try TemporaryDirectory()
        try directory.copy(to: copy)
        #expect(try store.drain() == texts([0]))
        #expect(store.dropped.isEmpty)
        store.expectConservation()

        let next = try TestedStore.opened(JSONLStore(at: copy.path))
        #expect(try next.drain() == texts([0]))
        #expect(next.dropped == [.corrupt: 1])
    }

    @Test("after a failed write the file is not written to again")
    func failedFileIsNotUsedAgain() throws {
        let store = try opened()
        try store.append(EventLine(0))
        files.fail(.write, with: .inputOutput, times: 1)
        #expect(throws: SluiceError.self) { try store.append(EventLine(1)) }
        let before = try directory.segments()
        try store.append(EventLine(2))
        #expect(try directory.segments().count == before.count + 1)
        #expect(try store.drain() == texts([0, 2]))
    }

    @Test("a settled batch is not sent again in this process, although its file cannot be removed")
    func unremovedBatchIsNotSentAgain() throws {
        let store = try opened()
        try store.append(EventLine(0))
        files.fail(.removeFile, with: .accessDenied)
        let batch = try #require(try store.nextBatch())
        let error = #expect(throws: SluiceError.self) { try store.settle(batch) }
        #expect(error?.code == .inputOutput)
        #expect(try store.nextBatch() == nil)
        #expect(store.store.backlog.isEmpty)
        store.expectConservation()
        files.heal()
        try store.append(EventLine(1))
        #expect(try store.drain() == texts([1]))
        #expect(try directory.segments().isEmpty)
    }

    @Test("a segment that cannot be read is tried again, then given up so that it does not block others")
    func unreadableSegmentDoesNotBlockOthers() throws {
        let time = VirtualTime()
        let store = try TestedStore.opened(
            JSONLStore(at: directory.path, files: files), in: time.environment)
        try store.append(EventLine(0))
        files.fail(.read, with: .inputOutput, times: 1)
        #expect(throws: SluiceError.self) { try store.nextBatch() }
        try store.append(EventLine(1))
        store.expectConservation()

        files.fail(.read, with: .inputOutput, times: 2)
        #expect(throws: SluiceError.self) { try store.nextBatch() }
        #expect(try store.drain() == texts([1]))
        #expect(store.dropped == [.unreadable: 1])
        #expect(store.notes.count == 1)
        #expect(store.store.backlog.isEmpty)
        store.expectConservation()

        files.fail(.read, with: .inputOutput, times: 1)
        time.advance(by: .seconds(61))
        #expect(try store.nextBatch() == nil)
        #expect(try store.nextBatch() == nil)
        #expect(store.notes.count == 1)
        #expect(try directory.segments().count == 1)
        time.advance(by: .seconds(61))
        #expect(try store.drain() == texts([0]))
        #expect(store.recovered == 1)
        store.expectConservation()
    }

    @Test("a segment that was given up is found by the next process")
    func nextProcessFindsGivenUpSegment() throws {
        let store = try opened()
        try store.append(EventLine(0))
        files.fail(.read, with: .inputOutput)
        for _ in 0..<2 { #expect(throws: SluiceError.self) { try store.nextBatch() } }
        #expect(try store.nextBatch() == nil)
        store.store.close()
        files.heal()
        #expect(try opened().drain() == texts([0]))
    }

    @Test("too many open files are temporary: nothing is given up")
    func missingDescriptorsGiveUpNothing() throws {
        let store = try opened()
        try store.append(EventLine(0))
        // With the file of the open segment closed.
        files.fail(.read, with: .inputOutput, times: 1)
        #expect(throws: SluiceError.self) { try store.nextBatch() }
        files.fail(.open, with: .tooManyOpenFiles)
        for _ in 0..<10 { #expect(throws: SluiceError.self) { try store.nextBatch() } }
        files.heal()
        #expect(try store.drain() == texts([0]))
    }

    @Test(
        "a link, directory or fifo with a segment's name does not block other segments",
        arguments: ["link", "directory", "fifo"])
    func irregularFileDoesNotBlockOthers(kind: String) throws {
        try directory.leave([EventLine(0)])
        let name = try directory.segments()[0]
        let path = "\(directory.path)/" + name.dropLast(".jsonl".count) + "1.jsonl"
        switch kind {
        case "link": symlink("/etc/passwd", path)
        case "directory": try SystemFileSystem().makeDirectory(path, mode: 0o700)
        default: mkfifo(path, 0o600)
        }
        let store = try opened()
        #expect(try store.drain() == texts([0]))
        #expect(store.notes.count == 1)
        store.store.close()
        #expect(try SystemFileSystem().status(of: path).links > 0)
    }

    /// Each error at each operation, from its nth call on, once or permanently.
    @Test(
        "after any fault, every accepted event is delivered once",
        arguments: FaultyFileSystem.Operation.allCases,
        Trials.isFull
            ? [FileError.noSpace, .inputOutput, .accessDenied, .readOnly, .quotaExceeded] : [.noSpace, .inputOutput])
    func everyFaultKeepsAcceptedEvents(operation: FaultyFileSystem.Operation, error: FileError) throws {
        for durability in [JSONLStore.Durability.process, .full, .buffered] {
            for skip in 0..<12 {
                for times in [1, Int.max] {
                    let directory = try TemporaryDirectory()
                    let files = FaultyFileSystem()
                    let time = VirtualTime()
                    let store = try TestedStore.opened(
                        JSONLStore(
                            at: directory.path, durability: durability, files: files), in: time.environment)
                    files.fail(operation, with: error, after: skip, times: times)
                    var accepted: Set<String> = []
                    var delivered: Set<String> = []
                    for number in 0..<30 {
                        let line = EventLine(number, number % 5 == 0 ? .critical : .normal)
                        do {
                            try store.append(line)
                            accepted.insert(line.text)
                        } catch {}
                        guard number % 7 == 6 else { continue }
                        do {
                            guard let batch = try store.nextBatch() else { continue }
                            #expect(delivered.isDisjoint(with: batch.texts))
                            delivered.formUnion(batch.texts)
                            try store.settle(batch)
                        } catch {}
                        store.expectConservation()
                    }
                    files.heal()
                    try store.append(EventLine(30))
                    accepted.insert(EventLine(30).text)
                    var rest = try store.drain()
                    for _ in 0..<5 {
                        time.advance(by: .seconds(61))
                        rest += try store.drain()
                    }
                    #expect(delivered.isDisjoint(with: rest))
                    delivered.formUnion(rest)
                    store.expectConservation()
                    #expect(store.store.backlog.isEmpty)
                    #expect(delivered == accepted, "\(durability) \(skip) \(times)")
                }
            }
        }
    }
}
