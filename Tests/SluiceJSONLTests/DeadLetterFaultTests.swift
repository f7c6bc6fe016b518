import Sluice
import SluiceLibC
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceJSONL

/// Dead letters that can't be written or read, and the ones of other processes.
struct DeadLetterFaultTests: TimedStoreSuite {
    let directory = TemporaryDirectory()
    let files = FaultyFileSystem()
    let time = VirtualTime()

    @Test("rejected events that can't be written keep their batch's file, and are written later", arguments: [1, 2])
    func unwrittenRejectionsKeepTheBatch(attempts: Int) throws {
        let store = try opened()
        let batch = try store.batch(of: 0..<3)
        files.fail(.create, with: .noSpace)
        for _ in 0..<attempts { store.store.reject([batch.rejected("bad")[1]], in: batch.id) }
        #expect(throws: SluiceError.self) { try store.settle(batch) }
        #expect(store.notes.count == 1)
        #expect(try directory.segments().count == 1)
        #expect(store.store.backlog == Backlog(events: 0, bytes: 0, deadLetters: 1))
        #expect(try store.letters().compactMap(\.number) == [1])
        #expect(try store.nextBatch() == nil)
        // The others were accepted.
        #expect(try openedAfterKill().nextBatch()?.numbers == [1])
        files.heal()
        try store.store.synchronize()
        #expect(try directory.letterLines().count == 1)
        let next = try store.batch(of: [3])
        #expect(next.numbers == [3])
        try store.settle(next)
        #expect(try directory.segments().isEmpty)
        #expect(store.notes.count == 1)
    }

    @Test("a rejected event that was never written can be replayed or discarded")
    func unwrittenDeadLettersCanBeReplayed() throws {
        let store = try opened()
        let batch = try store.batch(of: 0..<3)
        let home = try #require(directory.names.first)
        files.fail(.create, with: .noSpace, below: ["\(directory.path)/\(home)/rejected-"])
        store.store.reject(batch.rejected("bad"), in: batch.id)
        #expect(throws: SluiceError.self) { try store.settle(batch) }
        let letters = try store.letters()
        #expect(try store.replay([letters[0].id]) == 1)
        #expect(try store.discard([letters[1].id]) == 1)
        let again = try #require(try store.nextBatch())
        #expect(again.numbers == [0])
        files.heal()
        try store.settle(again)
        #expect(try store.letters().compactMap(\.number) == [2])
        #expect(try directory.segments().isEmpty)
    }

    @Test("an event that can't be encrypted is kept in memory with its batch's file")
    func unencryptableRejectionsKeepTheBatch() throws {
        let isLocked = Locked(false)
        let toy = LineEncryption.toy(7)
        let store = try opened(
            encryption: LineEncryption(
                encrypt: { line in
                    if isLocked.withLock({ $0 }) { throw FileError.accessDenied }
                    return [7] + line.map { $0 ^ 7 }
                }, decrypt: { $0.dropFirst().map { $0 ^ 7 } }))
        let batch = try store.batch(of: [0])
        isLocked.withLock { $0 = true }
        store.store.reject(batch.rejected("bad"), in: batch.id)
        #expect(throws: SluiceError.self) { try store.settle(batch) }
        #expect(store.notes.count == 1)
        isLocked.withLock { $0 = false }
        #expect(try reopened(store, encryption: toy).store.deadLetters().compactMap(\.number) == [0])
        #expect(try directory.segments().isEmpty)
    }

    /// Each operation fails permanently from its nth call on, as if the process had been killed there.
    @Test(
        "wherever the process ends, each event is delivered, waiting or a dead letter",
        arguments: FaultyFileSystem.Operation.allCases, [JSONLStore.Durability.process, .full, .buffered])
    func noEventIsLostWhereverTheProcessEnds(operation: FaultyFileSystem.Operation, durability: JSONLStore.Durability)
        throws
    {
        for skip in 0..<(Trials.isFull ? 80 : 20) {
            let place = TemporaryDirectory()
            let store = try opened(durability, in: place)
            for number in 0..<6 { try store.append(.canonical(number)) }
            files.fail(operation, with: .inputOutput, after: skip)
            var settled: Set<Int> = []
            func attempt(_ body: () throws -> Void) {
                do { try body() } catch { #expect(error is SluiceError) }
            }
            attempt {
                guard let batch = try store.nextBatch() else { return }
                store.store.reject(Array(batch.rejected("bad")[1...4]), in: batch.id)
                settled = [0, 5]
                try store.settle(batch)
            }
            attempt {
                let letters = try store.letters()
                guard letters.count == 4 else { return }
                attempt { _ = try store.replay(letters[..<2].map(\.id)) }
                attempt { if try store.discard([letters[2].id]) == 1 { settled.insert(3) } }
            }
            // Every operation fails now: closing writes nothing more than a killed process would.
            for operation in FaultyFileSystem.Operation.allCases { files.fail(operation, with: .inputOutput) }
            store.store.close()
            files.heal()
            let next = try opened(durability, in: place)
            let letters = try next.letters().compactMap(\.number)
            #expect(letters.count == Set(letters).count)
            let found = settled.union(letters).union(try next.drainNumbers())
            // Buffered events are lost with the process.
            let lost = durability == .buffered ? store.dropped[.storeFailed] ?? 0 : 0
            #expect(found.count + lost >= 6, "\(operation) \(skip) \(durability)")
            #expect(next.dropped.isEmpty)
        }
    }

    @Test("a torn dead letter is counted once, and no cut crashes the store")
    func tornDeadLettersAreCounted() throws {
        try rejectAll(0..<3, in: try opened())
        let name = try #require(try directory.letterFiles().first)
        let intact = try directory.read(name)
        for length in 1..<intact.count {
            try directory.write(Array(intact[..<length]), to: name)
            let whole = intact[..<length].count { $0 == LineFormat.newline }
            let torn = intact[length - 1] == LineFormat.newline ? 0 : 1
            for opening in 0..<2 {
                let store = try opened()
                #expect(store.store.backlog.deadLetters == whole)
                #expect(try store.letters().compactMap(\.number) == Array(0..<whole))
                #expect(store.deadLettersDropped[.corrupt, default: 0] == (opening == 0 ? torn : 0))
                #expect(store.notes.isEmpty)
                store.store.close()
            }
        }
    }

    /// Every bit of a file with three letters, in a later process and under the feet of the one that wrote it.
    @Test("a dead letter with a flipped bit is counted, and is neither listed nor replayed", arguments: [true, false])
    func damagedDeadLettersAreCounted(isEarlier: Bool) throws {
        let first = try opened()
        try rejectAll(0..<3, in: first)
        let name = try #require(try directory.letterFiles().first)
        let intact = try directory.read(name)
        let texts = Set((0..<3).map { EventLine.canonical($0).text })
        if isEarlier { first.store.close() }
        for bit in 0..<intact.count * 8 where Trials.isFull || bit % 7 == 0 {
            var bytes = intact
            bytes[bit / 8] ^= 1 << (bit % 8)
            let copy = try directory.copy()
            if isEarlier { try copy.write(bytes, to: name) }
            let store = try opened(in: copy)
            if !isEarlier {
                // Known to be whole before the damage.
                #expect(try store.letters().count == 3)
                try copy.write(bytes, to: name)
            }
            let letters = try store.letters()
            let lost = 3 - letters.count
            // A newline that is damaged joins two lines.
            #expect((1...2).contains(lost))
            #expect(store.deadLettersDropped[.corrupt, default: 0] >= 1)
            #expect(try store.replay(letters.map(\.id)) == letters.count)
            #expect(texts.isSuperset(of: try store.drain()))
            #expect(store.store.backlog.deadLetters == 0)
            #expect(try copy.letterFiles().isEmpty)
            store.store.close()
        }
    }

    @Test("dead letters that can't be decrypted stay in their file", arguments: [nil, UInt8(8)])
    func undecryptableDeadLettersStay(other: UInt8?) throws {
        try rejectAll(0..<3, in: try opened(encryption: .toy(7)))
        let stranger = try opened(encryption: other.map { .toy($0) })
        #expect(try stranger.letters().isEmpty)
        #expect(stranger.notes.count == 1)
        #expect(try reopened(stranger, encryption: .toy(7)).store.deadLetters().count == 3)
    }

    @Test("a line with further keys is read, and one that comes twice is read once")
    func furtherKeysAreIgnored() throws {
        try rejectAll([0], in: try opened())
        let name = try #require(try directory.letterFiles().first)
        func line(_ id: Int) throws -> [UInt8] {
            let text =
                #"{"id":"000000000000000\#(id)","reason":"x,\"event\":{","status":400,"words":{"a":[1],"event":{}},"at":5,"event":\#(EventLine.canonical(7, .critical).text),"later":{"priority":[]}}"#
            var buffer = LineBuffer()
            buffer.append(try StoredLine(Array(text.utf8)[...], nil))
            return Array(buffer.bytes)
        }
        try directory.write(try line(1) + line(2) + line(1), to: name)
        let store = try opened()
        #expect(store.store.backlog.deadLetters == 2)
        let letters = try store.letters()
        #expect(letters.map(\.id) == [1, 2])
        #expect(letters[0].reason == #"x,"event":{"#)
        #expect(letters[0].date == Timestamp(milliseconds: 5))
        #expect(letters[0].line == .canonical(7, .critical))
        #expect(store.deadLettersDropped.isEmpty)
    }

    @Test("empty files and left-overs of an ended process are removed, and other foreign files are left alone")
    func unusableFilesAreLeftAlone() throws {
        try directory.leave([EventLine(0)])
        let home = try #require(directory.names.first)
        let path = "\(directory.path)/\(home)/rejected-000000000000000"
        for lane in Lane.allCases { try directory.write([], to: "\(home)/\(lane.word)-0000000000000006-5.jsonl") }
        try directory.write([0x0A, 0x0A], to: "\(home)/rejected-0000000000000007-5.jsonl")
        try directory.write([1], to: "\(home)/rejected-0000000000000008-5.jsonl.new")
        try directory.write([1], to: "\(home)/normal-0000000000000008-5.jsonl" + SpareFiles.suffix)
        // As the version before this one has written them.
        let previous = #"{"reason":"x","at":5,"event":\#(EventLine.canonical(7).text)}"# + "\n"
        try directory.write(Array(previous.utf8), to: "\(home)/rejected/0000000000000001.jsonl")
        #expect(symlink("/dev/zero", "\(path)9-5.jsonl") == 0)
        try OpenFile("\(path)a-5.jsonl", [.write, .create], in: SystemFileSystem()).truncate(to: 1 << 40)
        for events in [texts([0]), []] {
            let store = try opened()
            #expect(store.notes.count == 1)
            #expect(try store.letters().isEmpty)
            #expect(try store.drain() == events && store.dropped.isEmpty)
            store.store.close()
            #expect(
                try SystemFileSystem().list("\(directory.path)/\(home)").sorted() == [
                    "lock", "rejected", "rejected-0000000000000009-5.jsonl", "rejected-000000000000000a-5.jsonl",
                ])
        }
    }

    // MARK: Other processes

    @Test("dead letters of adopted directories are listed, and move to the own directory when it is removed")
    func adoptedDeadLettersAreListedAndMoved() throws {
        let stores = try (0..<3).map { _ in try opened() }
        for (index, store) in stores.enumerated() {
            try rejectAll([index], in: store)
            try store.append(.canonical(10 + index))
        }
        #expect(try stores[1].store.deadLetters().compactMap(\.number) == [1])
        for store in stores { store.store.close() }
        let store = try opened()
        #expect(Set(try store.letters().compactMap(\.number)) == [0, 1, 2])
        let ids = try store.letters().map(\.id)
        _ = try store.drain()
        #expect(directory.names.count == 1)
        #expect(try store.letters().map(\.id) == ids)
        #expect(try directory.letterLines().count == 3)
        #expect(try store.replay(ids) == 3)
        #expect(try reopened(store).drain().count == 3)
    }

    @Test("the child of a fork leaves the parent's events, letters and files alone, and writes to its own directory")
    func childOfForkLeavesAllAlone() throws {
        let store = try opened()
        try rejectAll(0..<3, in: store)
        let batch = try store.batch(of: 3..<6)
        try store.append(.canonical(6))
        let ids = try store.letters().map(\.id)
        let before = try directory.files()
        let lines = try directory.letterLines()
        files.pretend(processID: 1)
        store.store.reject(batch.rejected("bad"), in: batch.id)
        #expect(try store.letters().isEmpty)
        #expect(try store.replay(ids) == 0)
        #expect(try store.discard(ids) == 0)
        #expect(store.store.backlog == Backlog(events: 0, bytes: 0))
        #expect(store.dropped == [.leftToParentProcess: 4] && store.deadLettersDropped == [.leftToParentProcess: 3])
        try store.append(.canonical(7))
        #expect(try store.drainNumbers() == [7])
        store.store.close()
        #expect(try directory.files() == before)
        #expect(try directory.letterLines() == lines)
    }

    @Test("the child of a fork doesn't write the parent's pending dead letters")
    func childOfForkLeavesPendingLettersAlone() throws {
        let store = try opened()
        let batch = try store.batch(of: [0])
        files.fail(.create, with: .noSpace)
        store.store.reject(batch.rejected("bad"), in: batch.id)
        files.heal()
        files.pretend(processID: 1)
        expectError(.invalidArgument) { try store.settle(batch) }
        store.store.close()
        #expect(try directory.letterLines().isEmpty)
        #expect(try directory.segments().count == 1)
    }

    @Test("dead letters that someone has deleted are counted", arguments: [true, false])
    func deletedDeadLettersAreCounted(isWhole: Bool) throws {
        let store = try opened()
        try rejectAll(0..<3, in: store)
        let root = try #require(directory.names.first)
        for name in isWhole ? [root] : try directory.letterFiles() { directory.remove(name) }
        #expect(try store.letters().isEmpty)
        try rejectAll(3..<5, in: store)
        #expect(try store.letters().compactMap(\.number) == [3, 4])
        #expect(store.deadLettersDropped == [.vanished: 3])
        #expect(store.store.backlog == Backlog(events: 0, bytes: 0, deadLetters: 2))
    }

    @Test(
        "dead letters are synchronized before their batch is removed if a loss of power matters",
        arguments: [(JSONLStore.Durability.full, true), (.interval(milliseconds: 1_000), true), (.process, false)])
    func deadLettersAreSynchronizedBeforeSettle(durability: JSONLStore.Durability, isSafe: Bool) throws {
        let store = try opened(durability)
        let batch = try store.batch(of: [0])
        let before = files.calls(.synchronize)
        store.store.reject(batch.rejected("bad"), in: batch.id)
        #expect((files.calls(.synchronize) > before) == isSafe)
        files.fail(.synchronize, with: .inputOutput)
        try store.append(.canonical(1, .critical), isOptional: durability == .full)
        if let next = try store.nextBatch() {
            store.store.reject(next.rejected("bad"), in: next.id)
            if isSafe { #expect(throws: SluiceError.self) { try store.settle(next) } }
        }
        files.heal()
        try store.store.synchronize()
        #expect(files.calls(.synchronize) > before)
    }
}
