import Sluice
import SluiceLibC
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceJSONL

struct DeadLetterTests: StoreSuite {
    let directory = TemporaryDirectory()
    let files = FaultyFileSystem()
    private let time = VirtualTime()
    var environment: PipelineEnvironment { time.environment }

    /// Appends events, and rejects them all.
    private func reject(_ numbers: some Sequence<Int>, in store: TestedStore, padding: Int = 0) throws {
        for number in numbers { try store.append(.canonical(number, padding: padding)) }
        while let batch = try store.nextBatch() { try store.settle(batch, rejected: batch.rejected("bad")) }
    }

    private func lines() throws -> [String] {
        try directory.letterFiles()
            .flatMap { try String(decoding: directory.read($0), as: UTF8.self).split(separator: "\n") }
            .map(String.init)
    }

    // MARK: Keeping

    @Test("a rejected event becomes a line with the reason, the date and the event")
    func rejectedEventBecomesLine() throws {
        let store = try opened()
        let line = EventLine.canonical(0, .critical)
        try store.append(line)
        try store.append(.canonical(1))
        while let batch = try store.nextBatch() {
            store.store.reject(
                batch.events.map { DeadLetter(line: $0, reason: "a \"b\"\n", date: .sample) },
                in: batch.id)
            #expect(store.store.backlog.events > 0)
            try store.settle(batch)
        }
        let letters = try store.store.deadLetters()
        let starts = letters.map { #"{"id":"\#($0.id.digits)","reason":"a \"b\"\n","at":1767225600000,"# }
        #expect(
            try lines().map { $0.dropLast(LineFormat.overhead) }
                == [
                    starts[0] + #""event":\#(line.text)"#,
                    starts[1] + #""event":\#(EventLine.canonical(1).text)"#,
                ].map { $0[...] })
        #expect(try lines().allSatisfy { $0.dropLast(10).hasSuffix(#","crc":""#) })
        #expect(letters.map(\.line) == [line, .canonical(1)])
        #expect(letters.map(\.reason) == ["a \"b\"\n", "a \"b\"\n"])
        #expect(letters.allSatisfy { $0.date == .sample })
        #expect(try letters.map { try $0.event().priority } == [.critical, .normal])
        #expect(store.store.backlog == Backlog(events: 0, bytes: 0, deadLetters: 2))
    }

    @Test(
        "a dead letter keeps the status and the cleaned words of the receiver across processes; older lines have none")
    func lettersKeepWords() throws {
        let store = try opened()
        let batch = try store.batch(of: 0..<3)
        let texts: [String?] = ["no \"caf\u{E9}\"\n\u{0}\u{9B}1m", String(repeating: "\u{1F600}", count: 400), nil]
        store.store.reject(
            zip(batch.events, texts).map { line, text in
                DeadLetter(line: line, reason: "HTTP 403", date: .sample, status: text.map { _ in 403 }, response: text)
            }, in: batch.id)
        try store.settle(batch)
        store.store.close()
        let letters = try opened().store.deadLetters()
        #expect(letters.map(\.status) == [403, 403, nil])
        #expect(letters.map(\.response) == ["no \"caf\u{E9}\"   1m", String(repeating: "\u{1F600}", count: 256), nil])
        // The words can contain secrets, so they aren't printed.
        #expect(!"\(letters)".contains("caf"))
    }

    @Test(
        "a later process lists dead letters, each once, and doesn't hand out their events", arguments: [true, false])
    func laterProcessSkipsDeadLetters(isEncrypted: Bool) throws {
        let key = isEncrypted ? LineEncryption.toy(7) : nil
        let first = try opened(encryption: key)
        let batch = try first.batch(of: 0..<4)
        first.store.reject([batch.rejected("bad")[1]], in: batch.id)
        first.store.reject([batch.rejected("bad")[3], batch.rejected("worse")[1]], in: batch.id)
        #expect(first.store.backlog.events == 4)
        first.store.close()
        let store = try opened(encryption: key)
        #expect(store.store.backlog.deadLetters == 2)
        #expect(try store.store.deadLetters().compactMap(\.number) == [1, 3])
        let rest = try #require(try store.nextBatch())
        #expect(rest.numbers == [0, 2])
        #expect(store.recovered == 2)
        store.expectConservation()
        store.store.reject(rest.rejected("bad"), in: rest.id)
        store.store.close()
        let last = try opened(encryption: key)
        #expect(try last.nextBatch() == nil)
        #expect(try last.store.deadLetters().compactMap(\.number) == [1, 3, 0, 2])
        #expect(try last.store.deadLetters().map(\.reason) == ["bad", "bad", "bad", "bad"])
        #expect(last.store.backlog == Backlog(events: 0, bytes: 0, deadLetters: 4))
        #expect(last.recovered == 0)
        #expect(last.dropped.isEmpty)
        #expect(try directory.segments().isEmpty)
    }

    @Test("dead letters count against the capacity and are evicted first, oldest first")
    func deadLettersAreEvictedFirst() throws {
        let store = try opened(capacity: 160_000)
        try reject(0..<100, in: store, padding: 1_000)
        #expect(try directory.files().allSatisfy { try directory.read($0).count <= 20_000 })
        for number in 100..<160 { try store.append(.canonical(number, padding: 1_000)) }
        #expect(try diskBytes() <= 160_000)
        let kept = try store.store.deadLetters().compactMap(\.number)
        #expect((40..<90).contains(kept.count))
        #expect(kept == Array(100 - kept.count..<100))
        #expect(store.deadLettersDropped == [.evicted: 100 - kept.count])
        #expect(store.dropped.isEmpty)
        for number in 160..<260 { try store.append(.canonical(number, padding: 1_000)) }
        #expect(try store.store.deadLetters().isEmpty)
        #expect(store.store.backlog.deadLetters == 0)
        #expect(store.deadLettersDropped == [.evicted: 100])
        #expect(try diskBytes() <= 160_000)
        store.expectConservation()
    }

    private func diskBytes() throws -> Int {
        try directory.files().reduce(0) { try $0 + directory.read($1).count }
    }

    @Test("the capacity holds in a later process too, and evicts the dead letters of earlier ones first")
    func capacityAtOpenEvictsDeadLettersFirst() throws {
        let first = try opened()
        try reject(0..<100, in: first, padding: 1_000)
        for number in 100..<150 { try first.append(.canonical(number, padding: 1_000)) }
        first.store.close()
        let store = try opened(capacity: 80_000)
        #expect(store.deadLettersDropped == [.evicted: 100 - store.store.backlog.deadLetters])
        #expect(store.dropped.isEmpty)
        #expect(try store.drain().count == 50)
    }

    @Test(
        "dead letters expire like waiting events, also in an open file and without a new batch, and in a later process",
        arguments: [false, true])
    func deadLettersExpire(isReopened: Bool) throws {
        var store = try opened()
        try reject(0..<3, in: store)
        time.advance(by: .days(2))
        try reject(3..<5, in: store)
        time.advance(by: .days(23))
        #expect(try store.store.deadLetters().count == 5)
        time.advance(by: .days(1) + .seconds(1))
        #expect(try store.nextBatch() == nil)
        #expect(store.deadLettersDropped == [.expired: 3])
        time.advance(by: .days(2))
        if isReopened {
            store.store.close()
            store = try opened()
        }
        #expect(try store.store.deadLetters().isEmpty)
        #expect(store.deadLettersDropped == [.expired: isReopened ? 2 : 5])
        #expect(store.store.backlog.deadLetters == 0)
        #expect(try directory.letterFiles().isEmpty)
        #expect(store.dropped.isEmpty)
    }

    @Test("a clock that is wrong by years expires no dead letter, and an old dead letter expires no event")
    func implausibleClockExpiresNothing() throws {
        try reject(0..<3, in: try opened())
        time.moveWallTime(by: .days(400))
        var store = try opened()
        #expect(try store.store.deadLetters().count == 3)
        try store.append(.canonical(3))
        store.store.close()
        for days in [-3_650, 7_300] {
            time.moveWallTime(by: .days(days))
            store = try opened()
            #expect(try store.store.deadLetters().count == 3)
            store.store.close()
        }
        time.moveWallTime(by: .days(-3_650))
        store = try opened()
        #expect(try store.nextBatch()?.numbers == [3])
        #expect(store.deadLettersDropped.isEmpty)
    }

    // MARK: Events with one id

    private func event(_ id: EventID, _ text: String) -> EventLine {
        let line = #"{"id":"\#(id)","event":"E","time":1,"properties":{"text":"\#(text)"}}"#
        return EventLine(bytes: Array(line.utf8)[...], priority: .normal)
    }

    @Test("an event with the id of a dead letter is delivered by a later process", arguments: ["corrected", "same"])
    func eventWithIDOfDeadLetterIsDelivered(text: String) throws {
        let id = EventID(high: 1, low: 2)
        for isFirstSettled in [true, false] {
            let place = TemporaryDirectory()
            let first = try opened(in: place)
            try first.append(event(id, "same"))
            let batch = try #require(try first.nextBatch())
            first.store.reject(batch.rejected("bad"), in: batch.id)
            if isFirstSettled { try first.settle(batch) }
            try first.append(event(id, text))
            first.store.close()
            let store = try opened(in: place)
            #expect(try store.drain() == [event(id, text).text])
            #expect(try store.store.deadLetters().map(\.line) == [event(id, "same")])
            store.expectConservation()
        }
    }

    @Test("of two events with the same bytes in a batch, one can be rejected", arguments: [1, 2])
    func oneOfTwoSameEventsIsRejected(rejections: Int) throws {
        let line = event(EventID(high: 1, low: 2), "same")
        let first = try opened()
        for _ in 0..<2 { try first.append(line) }
        let batch = try #require(try first.nextBatch())
        first.store.reject(Array(batch.rejected("bad").prefix(rejections)), in: batch.id)
        #expect(try first.store.deadLetters().count == rejections)
        first.store.close()
        let store = try opened()
        #expect(try store.drain().count == 2 - rejections)
        #expect(try store.store.deadLetters().count == rejections)
    }

    // MARK: Replaying and discarding

    @Test("1,000 replayed dead letters wait again, in order, and survive a restart", arguments: [true, false])
    func thousandDeadLettersAreReplayedInOrder(isRestarted: Bool) throws {
        var store = try opened()
        try reject(0..<1_000, in: store)
        if isRestarted {
            store.store.close()
            store = try opened()
        }
        let letters = try store.store.deadLetters()
        #expect(letters.compactMap(\.number) == Array(0..<1_000))
        #expect(Set(letters.map(\.id)).count == 1_000)
        #expect(try store.store.deadLetters().map(\.id) == letters.map(\.id))
        #expect(try store.store.replayDeadLetters(Set(letters.map(\.id))) == 1_000)
        #expect(store.store.backlog.events == 1_000)
        #expect(try store.store.deadLetters().isEmpty)
        #expect(try lines().isEmpty)
        #expect(try store.store.replayDeadLetters(Set(letters.map(\.id))) == 0)
        store.store.close()
        #expect(try opened().drainNumbers() == Array(0..<1_000))
    }

    @Test("some dead letters can be replayed and others discarded; the rest keeps its ids", arguments: [true, false])
    func someAreReplayedAndOthersDiscarded(isEncrypted: Bool) throws {
        let store = try opened(encryption: isEncrypted ? .toy(9) : nil)
        try reject(0..<10, in: store)
        let letters = try store.store.deadLetters()
        #expect(try store.store.replayDeadLetters([letters[0].id, letters[4].id]) == 2)
        #expect(try store.store.discardDeadLetters([letters[5].id, letters[9].id, letters[0].id]) == 2)
        let rest = try store.store.deadLetters()
        #expect(rest.map(\.id) == [1, 2, 3, 6, 7, 8].map { letters[$0].id })
        #expect(rest.compactMap(\.number) == [1, 2, 3, 6, 7, 8])
        #expect(try store.nextBatch()?.numbers == [0, 4])
        #expect(try directory.files().allSatisfy { !$0.hasSuffix(".new") })
        try reject([10], in: store)
        #expect(try store.store.deadLetters().compactMap(\.number) == [1, 2, 3, 6, 7, 8, 10])
    }

    @Test("a replayed event that is rejected again is a dead letter again")
    func replayedEventCanBeRejectedAgain() throws {
        let store = try opened()
        try reject([0], in: store)
        #expect(try store.store.replayDeadLetters([try store.store.deadLetters()[0].id]) == 1)
        let batch = try #require(try store.nextBatch())
        try store.settle(batch, rejected: batch.rejected("worse"))
        #expect(try store.store.deadLetters().map(\.reason) == ["worse"])
        #expect(try lines().count == 1)
    }

    @Test("a store that is full of its own dead letters replays them all")
    func fullStoreReplaysItsDeadLetters() throws {
        let store = try opened(capacity: 160_000)
        for start in stride(from: 0, to: 300, by: 20) { try reject(start..<start + 20, in: store, padding: 1_000) }
        let letters = try store.store.deadLetters()
        #expect(letters.count > 100)
        let before = store.deadLettersDropped
        #expect(try store.store.replayDeadLetters(Set(letters.map(\.id))) == letters.count)
        #expect(store.deadLettersDropped == before)
        #expect(store.dropped.isEmpty)
        #expect(try diskBytes() <= 160_000)
    }

    @Test("a replayed event is in a file before its dead letter is removed, even if events are buffered")
    func replayWritesBufferedEventsFirst() throws {
        let store = try opened(.buffered)
        try reject(0..<2, in: store)
        #expect(try store.store.replayDeadLetters(Set(store.store.deadLetters().map(\.id))) == 2)
        #expect(try openedAfterKill().nextBatch()?.numbers == [0, 1])
    }

    // MARK: Letters that are gone before their batch is settled

    /// How a dead letter goes.
    enum End: Sendable, CaseIterable {
        case evicted, evictedForCritical, expired, discarded, deletedByOthers, damaged, stays
    }

    @Test(
        "an event whose dead letter is gone before its batch is settled doesn't come back after a kill",
        arguments: End.allCases,
        [JSONLStore.Durability.process, .full, .interval(milliseconds: 50), .buffered])
    func goneLettersDontComeBack(end: End, durability: JSONLStore.Durability) throws {
        // In the process that rejects them, and in one that finds them rejected but not marked.
        for isFound in [false, true] {
            let directory = TemporaryDirectory()
            var place = directory
            var store = try opened(durability, capacity: 20_000, in: place)
            for number in 0..<6 { try store.append(.canonical(number)) }
            var batch = try #require(try store.nextBatch(events: 6))
            let rejected = batch.rejected("bad")
            if isFound { files.fail(.overwrite, with: .inputOutput) }
            store.store.reject([rejected[1], rejected[4]], in: batch.id)
            files.heal()
            if isFound {
                place = try directory.copy()
                store = try opened(durability, capacity: 20_000, in: place)
                batch = try #require(try store.nextBatch(events: 6))
                #expect(batch.numbers == [0, 2, 3, 5])
            }
            try end.happen(to: store, in: place, time)
            let next = try openedAfterKill(in: place, maximumAge: .days(10_000))
            #expect(try next.drainNumbers().filter { $0 < 6 } == [0, 2, 3, 5])
        }
    }

    // MARK: Faults

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
        #expect(try store.store.deadLetters().compactMap(\.number) == [1])
        #expect(try store.nextBatch() == nil)
        #expect(try openedAfterKill().nextBatch()?.numbers == [0, 1, 2])
        files.heal()
        try store.store.synchronize()
        #expect(try lines().count == 1)
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
        let home = try #require(try SystemFileSystem().list(directory.path).first)
        files.fail(.create, with: .noSpace, below: ["\(directory.path)/\(home)/rejected-"])
        store.store.reject(batch.rejected("bad"), in: batch.id)
        #expect(throws: SluiceError.self) { try store.settle(batch) }
        let letters = try store.store.deadLetters()
        #expect(try store.store.replayDeadLetters([letters[0].id]) == 1)
        #expect(try store.store.discardDeadLetters([letters[1].id]) == 1)
        let again = try #require(try store.nextBatch())
        #expect(again.numbers == [0])
        files.heal()
        try store.settle(again)
        #expect(try store.store.deadLetters().compactMap(\.number) == [2])
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
        store.store.close()
        #expect(try opened(encryption: toy).store.deadLetters().compactMap(\.number) == [0])
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
                let letters = try store.store.deadLetters()
                guard letters.count == 4 else { return }
                attempt { _ = try store.store.replayDeadLetters(Set(letters[..<2].map(\.id))) }
                attempt { if try store.store.discardDeadLetters([letters[2].id]) == 1 { settled.insert(3) } }
            }
            // Every operation fails now: closing writes nothing more than a killed process would.
            for operation in FaultyFileSystem.Operation.allCases { files.fail(operation, with: .inputOutput) }
            store.store.close()
            files.heal()
            let next = try opened(durability, in: place)
            let letters = try next.store.deadLetters().compactMap(\.number)
            #expect(letters.count == Set(letters).count)
            let found = settled.union(letters).union(try next.drainNumbers())
            // Buffered events are lost with the process.
            let lost = durability == .buffered ? store.dropped[.storeFailed] ?? 0 : 0
            #expect(found.count + lost >= 6, "\(operation) \(skip) \(durability)")
            #expect(next.dropped.isEmpty)
            next.expectConservation()
        }
    }

    @Test("a torn dead letter is counted once, and no cut crashes the store")
    func tornDeadLettersAreCounted() throws {
        try reject(0..<3, in: try opened())
        let name = try #require(try directory.letterFiles().first)
        let intact = try directory.read(name)
        for length in 1..<intact.count {
            try directory.write(Array(intact[..<length]), to: name)
            let whole = intact[..<length].count { $0 == LineFormat.newline }
            let torn = intact[length - 1] == LineFormat.newline ? 0 : 1
            for opening in 0..<2 {
                let store = try opened()
                #expect(store.store.backlog.deadLetters == whole)
                #expect(try store.store.deadLetters().compactMap(\.number) == Array(0..<whole))
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
        try reject(0..<3, in: first)
        let name = try #require(try directory.letterFiles().first)
        let intact = try directory.read(name)
        let texts = Set((0..<3).map { EventLine.canonical($0).text })
        if isEarlier { first.store.close() }
        for bit in 0..<intact.count * 8 where Trials.isFull || bit % 7 == 0 {
            var bytes = intact
            bytes[bit / 8] ^= 1 << (bit % 8)
            let copy = try directory.copy()
            if isEarlier { try copy.write(bytes, to: name) }
            let store = try TestedStore.opened(JSONLStore(at: copy.path), in: time.environment)
            if !isEarlier {
                // Known to be whole before the damage.
                #expect(try store.store.deadLetters().count == 3)
                try copy.write(bytes, to: name)
            }
            let letters = try store.store.deadLetters()
            let lost = 3 - letters.count
            // A newline that is damaged joins two lines.
            #expect((1...2).contains(lost))
            #expect(store.deadLettersDropped[.corrupt, default: 0] >= 1)
            #expect(try store.store.replayDeadLetters(Set(letters.map(\.id))) == letters.count)
            #expect(texts.isSuperset(of: try store.drain()))
            #expect(store.store.backlog.deadLetters == 0)
            #expect(try copy.letterFiles().isEmpty)
            store.store.close()
        }
    }

    @Test("dead letters that can't be decrypted stay in their file", arguments: [nil, UInt8(8)])
    func undecryptableDeadLettersStay(other: UInt8?) throws {
        try reject(0..<3, in: try opened(encryption: .toy(7)))
        let stranger = try opened(encryption: other.map { .toy($0) })
        #expect(try stranger.store.deadLetters().isEmpty)
        #expect(stranger.notes.count == 1)
        stranger.store.close()
        #expect(try opened(encryption: .toy(7)).store.deadLetters().count == 3)
    }

    @Test("a line with further keys is read, and one that comes twice is read once")
    func furtherKeysAreIgnored() throws {
        try reject([0], in: try opened())
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
        let letters = try store.store.deadLetters()
        #expect(letters.map(\.id) == [1, 2])
        #expect(letters[0].reason == #"x,"event":{"#)
        #expect(letters[0].date == Timestamp(milliseconds: 5))
        #expect(letters[0].line == .canonical(7, .critical))
        #expect(store.deadLettersDropped.isEmpty)
    }

    @Test("files that can't be dead letters are removed if they are empty, and otherwise left alone")
    func unusableFilesAreLeftAlone() throws {
        try directory.leave([EventLine(0)])
        let home = try #require(try SystemFileSystem().list(directory.path).first)
        let path = "\(directory.path)/\(home)/rejected-000000000000000"
        try directory.write([], to: "\(home)/rejected-0000000000000006-5.jsonl")
        try directory.write([0x0A, 0x0A], to: "\(home)/rejected-0000000000000007-5.jsonl")
        try directory.write([1], to: "\(home)/rejected-0000000000000008-5.jsonl.new")
        // As the version before this one has written them.
        let previous = #"{"reason":"x","at":5,"event":\#(EventLine.canonical(7).text)}"# + "\n"
        try directory.write(Array(previous.utf8), to: "\(home)/rejected/0000000000000001.jsonl")
        #expect(symlink("/dev/zero", "\(path)9-5.jsonl") == 0)
        try OpenFile("\(path)a-5.jsonl", [.write, .create], in: SystemFileSystem()).truncate(to: 1 << 40)
        for _ in 0..<2 {
            let store = try opened()
            #expect(store.notes.count == 1)
            #expect(try store.store.deadLetters().isEmpty)
            _ = try store.drain()
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
            try reject([index], in: store)
            try store.append(.canonical(10 + index))
        }
        #expect(try stores[1].store.deadLetters().compactMap(\.number) == [1])
        for store in stores { store.store.close() }
        let store = try opened()
        #expect(Set(try store.store.deadLetters().compactMap(\.number)) == [0, 1, 2])
        let ids = try store.store.deadLetters().map(\.id)
        _ = try store.drain()
        #expect(try SystemFileSystem().list(directory.path).count == 1)
        #expect(try store.store.deadLetters().map(\.id) == ids)
        #expect(try lines().count == 3)
        #expect(try store.store.replayDeadLetters(Set(ids)) == 3)
        store.store.close()
        #expect(try opened().drain().count == 3)
    }

    @Test("the child of a fork leaves the parent's dead letters alone")
    func childOfForkLeavesDeadLettersAlone() throws {
        let store = try opened()
        try reject(0..<3, in: store)
        let batch = try store.batch(of: 3..<6)
        let ids = try store.store.deadLetters().map(\.id)
        let before = try lines()
        files.pretend(processID: 1)
        store.store.reject(batch.rejected("bad"), in: batch.id)
        #expect(try store.store.deadLetters().isEmpty)
        #expect(try store.store.replayDeadLetters(Set(ids)) == 0)
        #expect(try store.store.discardDeadLetters(Set(ids)) == 0)
        #expect(store.store.backlog == Backlog(events: 0, bytes: 0))
        #expect(store.deadLettersDropped == [.leftToParentProcess: 3])
        store.store.close()
        #expect(try lines() == before)
    }

    @Test("the child of a fork doesn't write the parent's pending dead letters")
    func childOfForkLeavesPendingLettersAlone() throws {
        let store = try opened()
        let batch = try store.batch(of: [0])
        files.fail(.create, with: .noSpace)
        store.store.reject(batch.rejected("bad"), in: batch.id)
        files.heal()
        files.pretend(processID: 1)
        let error = #expect(throws: SluiceError.self) { try store.settle(batch) }
        #expect(error?.code == .invalidArgument)
        store.store.close()
        #expect(try lines().isEmpty)
        #expect(try directory.segments().count == 1)
    }

    @Test("dead letters that someone has deleted are counted", arguments: [true, false])
    func deletedDeadLettersAreCounted(isWhole: Bool) throws {
        let store = try opened()
        try reject(0..<3, in: store)
        let root = try #require(try SystemFileSystem().list(directory.path).first)
        for name in isWhole ? [root] : try directory.letterFiles() { directory.remove(name) }
        #expect(try store.store.deadLetters().isEmpty)
        try reject(3..<5, in: store)
        #expect(try store.store.deadLetters().compactMap(\.number) == [3, 4])
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

extension Batch {
    /// All events of the batch.
    func rejected(_ reason: String) -> [DeadLetter] {
        events.map { DeadLetter(line: $0, reason: reason, date: .sample) }
    }

    var numbers: [Int] { events.compactMap(\.number) }
}

extension DeadLetter {
    var number: Int? { line.number }
}

extension EventLine {
    /// A line with an id that its number decides.
    static func canonical(_ number: Int, _ priority: Event.Priority = .normal, padding: Int = 0) -> EventLine {
        let word = priority == .critical ? #","priority":"critical""# : ""
        let pad = String(repeating: "x", count: padding)
        let id = EventID(high: 0x0190_0000_0000_7000, low: 1 << 63 | UInt64(number))
        let text = #"{"id":"\#(id)","event":"E","time":1\#(word),"properties":{"pad":"\#(pad)"}}"#
        return EventLine(bytes: Array(text.utf8)[...], priority: priority)
    }

    var number: Int? { id.map { Int($0.low & 0xFFFF_FFFF) } }
}

extension LineEncryption {
    private struct WrongKey: Error {}

    /// A toy cipher: each byte is changed by the key, and the key is the first byte.
    static func toy(_ key: UInt8) -> LineEncryption {
        LineEncryption(
            encrypt: { [key] + $0.map { $0 ^ key } },
            decrypt: { encrypted in
                guard encrypted.first == key else { throw WrongKey() }
                return encrypted.dropFirst().map { $0 ^ key }
            })
    }
}

extension DeadLetterTests.End {
    fileprivate func happen(to store: TestedStore, in directory: TemporaryDirectory, _ time: VirtualTime) throws {
        switch self {
        case .evicted, .evictedForCritical:
            for number in 10..<60 {
                let line = EventLine.canonical(number, self == .evicted ? .normal : .critical, padding: 1_000)
                try store.append(line, isOptional: true)
            }
            #expect(try store.store.deadLetters().isEmpty)
        case .expired:
            time.advance(by: .days(30))
            #expect(try store.store.deadLetters().isEmpty)
        case .discarded:
            #expect(try store.store.discardDeadLetters(Set(store.store.deadLetters().map(\.id))) == 2)
        case .deletedByOthers: for file in try directory.letterFiles() { directory.remove(file) }
        case .damaged: for file in try directory.letterFiles() { try directory.write(Array("x\n".utf8), to: file) }
        case .stays: #expect(try store.store.deadLetters().count == 2)
        }
    }
}
