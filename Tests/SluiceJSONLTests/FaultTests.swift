import Sluice
import SluiceLibC
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceJSONL

struct FaultTests: TimedStoreSuite {
    let directory = TemporaryDirectory()
    let files = FaultyFileSystem()
    let time = VirtualTime()

    @Test("short writes are continued to the newline", arguments: [1, 7, 60])
    func shortWritesAreContinued(limit: Int) throws {
        let store = try opened()
        files.limitWrites(to: limit)
        for number in 0..<20 { try store.append(EventLine(number)) }
        #expect(try store.drain() == texts(0..<20))
    }

    @Test("a segment that cannot be read is tried again, then given up so that it does not block others")
    func unreadableSegmentDoesNotBlockOthers() throws {
        let store = try opened()
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

        files.fail(.read, with: .inputOutput, times: 1)
        time.advance(by: .seconds(61))
        #expect(try store.nextBatch() == nil)
        #expect(try store.nextBatch() == nil)
        #expect(store.notes.count == 1)
        #expect(try directory.segments().count == 1)
        time.advance(by: .seconds(61))
        #expect(try store.drain() == texts([0]))
        #expect(store.recovered == 1)
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
        "a link, a directory, a fifo or a giant file with a segment's name does not block other segments",
        arguments: ["link", "directory", "fifo", "giant"])
    func irregularFileDoesNotBlockOthers(kind: String) throws {
        try directory.leave([EventLine(0)])
        let name = try directory.segments()[0]
        let path = "\(directory.path)/" + name.dropLast(".jsonl".count) + "1.jsonl"
        switch kind {
        case "link": symlink("/etc/passwd", path)
        case "directory": try SystemFileSystem().makeDirectory(path, mode: 0o700)
        case "fifo": mkfifo(path, 0o600)
        // Larger than any segment.
        default: try OpenFile(path, [.write, .create], in: SystemFileSystem()).truncate(to: 100_000_000)
        }
        let store = try opened()
        #expect(try store.drain() == texts([0]))
        #expect(store.dropped.isEmpty)
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
                    let store = try opened(durability, in: TemporaryDirectory())
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
