import Sluice
import SluiceFiles
import Testing

@testable import SluiceJSONL

/// Which system calls stand behind each promise. What the promises are worth is for a killed process to show.
@Suite(.timeLimit(.minutes(10)))
struct DurabilityTests {
    private let directory: TemporaryDirectory
    private let files = FaultyFileSystem()
    private let time = ManualTime()

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func opened(_ durability: JSONLStore.Durability) throws -> TestedStore {
        try .opened(
            JSONLStore(at: directory.path, durability: durability, environment: time.environment, files: files))
    }

    @Test("by default each event is one write, and none is synchronised")
    func process() throws {
        let store = try opened(.process)
        for number in 0..<100 { try store.append(EventLine(number)) }
        #expect(files.calls(.write) == 100)
        #expect(files.calls(.synchronize) == 0)
    }

    @Test("buffered events are written 64 KiB at a time, when a batch is asked for, and at the end")
    func buffered() throws {
        let store = try opened(.buffered)
        for number in 0..<300 { try store.append(EventLine(number, padding: 200)) }
        #expect(files.calls(.write) == 1)
        store.expectConservation()
        #expect(try store.nextBatch()?.texts == texts(0..<300, padding: 200))
        #expect(files.calls(.write) == 2)
        try store.append(EventLine(300))
        store.store.close()
        #expect(files.calls(.write) == 3)
    }

    @Test("a buffer that can never be written is bounded, and at the end counted")
    func bufferedFailure() throws {
        let store = try opened(.buffered)
        files.fail(.write, with: .noSpace)
        var accepted = 0
        for number in 0..<300 {
            do {
                try store.append(EventLine(number, padding: 1_000))
                accepted += 1
            } catch {
                #expect(error.code == .inputOutput)
            }
        }
        #expect(accepted < 65)
        #expect(accepted > 50)
        store.store.close()
        #expect(store.dropped == [.storeFailed: accepted])
        store.expectConservation()
    }

    @Test("with .full each event is synchronised, and each new file's directories")
    func full() throws {
        let store = try opened(.full)
        try store.append(EventLine(0))
        // The file, the folder, the root and what the root is in.
        #expect(files.calls(.synchronize) == 1 + directories)
        try store.append(EventLine(1))
        #expect(files.calls(.synchronize) == 2 + directories)
        try store.append(EventLine(2, .critical))
        #expect(files.calls(.synchronize) == 4 + directories)
    }

    @Test("with .full an event whose synchronisation fails is refused, and its file not used again")
    func fullFailure() throws {
        let store = try opened(.full)
        try store.append(EventLine(0))
        files.fail(.synchronize, with: .inputOutput, times: 1)
        #expect(throws: SluiceError.self) { try store.append(EventLine(1)) }
        #expect(try directory.segments().count == 1)
        try store.append(EventLine(2))
        #expect(try directory.segments().count == 2)
        let copy = try TemporaryDirectory()
        try directory.copy(to: copy)
        #expect(try TestedStore.opened(JSONLStore(at: copy.path)).drain() == texts([0, 2]))
        #expect(try store.drain() == texts([0, 2]))
        store.expectConservation()
    }

    @Test("with .interval all that was written is synchronised once an interval, and nothing when nothing was")
    func interval() async throws {
        let store = try opened(.interval(milliseconds: 10))
        for number in 0..<1_200 { try store.append(EventLine(number)) }
        #expect(files.calls(.synchronize) == 0)
        try await passInterval()
        await until { files.calls(.synchronize) == 3 + directories }
        await until { store.store.isIdle }
        time.advance(by: .seconds(1))
        #expect(time.sleepers == 0)
        try store.append(EventLine(1_200))
        try await passInterval()
        await until { files.calls(.synchronize) == 3 + directories + 1 }
        #expect(try store.drain() == texts(0...1_200))
    }

    @Test("a synchronisation that failed is reported, and not tried again on the same file")
    func intervalFailure() async throws {
        let store = try opened(.interval(milliseconds: 10))
        try store.append(EventLine(0))
        files.fail(.synchronize, with: .inputOutput, times: 1)
        try await passInterval()
        await until { store.notes.count == 1 }
        try store.append(EventLine(1))
        #expect(try directory.segments().count == 2)
        #expect(try store.drain() == texts([0, 1]))
    }

    @Test("synchronize() synchronises all that this life has written, also what is sealed", arguments: [true, false])
    func synchronize(isBuffered: Bool) throws {
        let store = try opened(isBuffered ? .buffered : .process)
        for number in 0..<1_200 { try store.append(EventLine(number)) }
        try store.store.synchronize()
        #expect(files.calls(.synchronize) == 3 + directories)
        try store.store.synchronize()
        #expect(files.calls(.synchronize) == 3 + directories)
        files.fail(.synchronize, with: .inputOutput)
        try store.append(EventLine(1_200))
        #expect(throws: SluiceError.self) { try store.store.synchronize() }
        files.heal()
        #expect(try store.drain() == texts(0...1_200))
    }

    private func passInterval() async throws {
        await until { time.sleepers == 1 }
        time.advance(by: .milliseconds(10))
    }

    /// The store's own, its root, and all above them, which may be as new.
    private var directories: Int { 2 + FilePath.ancestors(of: directory.path).count }

    private func until(_ condition: () -> Bool) async {
        while !condition(), !Task.isCancelled { await Task.yield() }
    }
}
