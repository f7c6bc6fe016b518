import Sluice
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceJSONL

struct DeadLetterTests: TimedStoreSuite {
    let directory = TemporaryDirectory()
    let files = FaultyFileSystem()
    let time = VirtualTime()

    // MARK: Keeping

    @Test("a rejected event becomes a line with the reason, the date and the event")
    func rejectedEventBecomesLine() throws {
        let store = try opened()
        let line = EventLine.canonical(0, .critical)
        try store.append(line)
        try store.append(.canonical(1))
        while let batch = try store.nextBatch() {
            store.store.reject(batch.rejected("a \"b\"\n"), in: batch.id)
            #expect(store.store.backlog.events > 0)
            try store.settle(batch)
        }
        let letters = try store.letters()
        let starts = letters.map { #"{"id":"\#($0.id.digits)","reason":"a \"b\"\n","at":1767225600000,"# }
        let events = [line.text, EventLine.canonical(1).text]
        #expect(
            try directory.letterLines().map { String($0.dropLast(LineFormat.overhead)) }
                == zip(starts, events).map { #"\#($0)"event":\#($1)"# })
        #expect(try directory.letterLines().allSatisfy { $0.dropLast(10).hasSuffix(#","crc":""#) })
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
        let letters = try reopened(store).store.deadLetters()
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
        let store = try reopened(first, encryption: key)
        #expect(store.store.backlog.deadLetters == 2)
        #expect(try store.letters().compactMap(\.number) == [1, 3])
        let rest = try #require(try store.nextBatch())
        #expect(rest.numbers == [0, 2])
        #expect(store.recovered == 2)
        store.store.reject(rest.rejected("bad"), in: rest.id)
        let last = try reopened(store, encryption: key)
        #expect(try last.nextBatch() == nil)
        #expect(try last.letters().compactMap(\.number) == [1, 3, 0, 2])
        #expect(try last.letters().map(\.reason) == ["bad", "bad", "bad", "bad"])
        #expect(last.store.backlog == Backlog(events: 0, bytes: 0, deadLetters: 4))
        #expect(last.recovered == 0)
        #expect(last.dropped.isEmpty)
        #expect(try directory.segments().isEmpty)
    }

    @Test("dead letters count against the capacity and are evicted first, oldest first")
    func deadLettersAreEvictedFirst() throws {
        let store = try opened(capacity: 160_000)
        try rejectAll(0..<100, in: store, padding: 1_000)
        #expect(try directory.files().allSatisfy { try directory.read($0).count <= 20_000 })
        for number in 100..<160 { try store.append(.canonical(number, padding: 1_000)) }
        #expect(try directory.bytes() <= 160_000)
        let kept = try store.letters().compactMap(\.number)
        #expect((40..<90).contains(kept.count))
        #expect(kept == Array(100 - kept.count..<100))
        #expect(store.deadLettersDropped == [.evicted: 100 - kept.count])
        #expect(store.dropped.isEmpty)
        for number in 160..<260 { try store.append(.canonical(number, padding: 1_000)) }
        #expect(try store.letters().isEmpty)
        #expect(store.store.backlog.deadLetters == 0)
        #expect(store.deadLettersDropped == [.evicted: 100])
        #expect(try directory.bytes() <= 160_000)
        store.expectConservation()
    }

    @Test("the capacity holds in a later process too, and evicts the dead letters of earlier ones first")
    func capacityAtOpenEvictsDeadLettersFirst() throws {
        let first = try opened()
        try rejectAll(0..<100, in: first, padding: 1_000)
        for number in 100..<150 { try first.append(.canonical(number, padding: 1_000)) }
        let store = try reopened(first, capacity: 80_000)
        #expect(store.deadLettersDropped == [.evicted: 100 - store.store.backlog.deadLetters])
        #expect(store.dropped.isEmpty)
        #expect(try store.drain().count == 50)
    }

    @Test(
        "dead letters expire like waiting events, also in an open file and without a new batch, and in a later process",
        arguments: [false, true])
    func deadLettersExpire(isReopened: Bool) throws {
        var store = try opened()
        try rejectAll(0..<3, in: store)
        time.advance(by: .days(2))
        try rejectAll(3..<5, in: store)
        time.advance(by: .days(23))
        #expect(try store.letters().count == 5)
        time.advance(by: .days(1) + .seconds(1))
        #expect(try store.nextBatch() == nil)
        #expect(store.deadLettersDropped == [.expired: 3])
        time.advance(by: .days(2))
        if isReopened { store = try reopened(store) }
        #expect(try store.letters().isEmpty)
        #expect(store.deadLettersDropped == [.expired: isReopened ? 2 : 5])
        #expect(store.store.backlog.deadLetters == 0)
        #expect(try directory.letterFiles().isEmpty)
        #expect(store.dropped.isEmpty)
    }

    @Test("a clock that is wrong by years expires no dead letter, and an old dead letter expires no event")
    func implausibleClockExpiresNothing() throws {
        try rejectAll(0..<3, in: try opened())
        time.moveWallTime(by: .days(400))
        var store = try opened()
        #expect(try store.letters().count == 3)
        try store.append(.canonical(3))
        store.store.close()
        for days in [-3_650, 7_300] {
            time.moveWallTime(by: .days(days))
            store = try opened()
            #expect(try store.letters().count == 3)
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
            let store = try reopened(first, in: place)
            #expect(try store.drain() == [event(id, text).text])
            #expect(try store.letters().map(\.line) == [event(id, "same")])
        }
    }

    @Test("of two events with the same bytes in a batch, one can be rejected", arguments: [1, 2])
    func oneOfTwoSameEventsIsRejected(rejections: Int) throws {
        let line = event(EventID(high: 1, low: 2), "same")
        let first = try opened()
        for _ in 0..<2 { try first.append(line) }
        let batch = try #require(try first.nextBatch())
        first.store.reject(Array(batch.rejected("bad").prefix(rejections)), in: batch.id)
        #expect(try first.letters().count == rejections)
        let store = try reopened(first)
        #expect(try store.drain().count == 2 - rejections)
        #expect(try store.letters().count == rejections)
    }

    // MARK: Replaying and discarding

    @Test("1,000 replayed dead letters wait again, in order, and survive a restart", arguments: [true, false])
    func thousandDeadLettersAreReplayedInOrder(isRestarted: Bool) throws {
        var store = try opened()
        try rejectAll(0..<1_000, in: store)
        if isRestarted { store = try reopened(store) }
        let letters = try store.letters()
        #expect(letters.compactMap(\.number) == Array(0..<1_000))
        #expect(Set(letters.map(\.id)).count == 1_000)
        #expect(try store.letters().map(\.id) == letters.map(\.id))
        #expect(try store.replay(letters.map(\.id)) == 1_000)
        #expect(store.store.backlog.events == 1_000)
        #expect(try store.letters().isEmpty)
        #expect(try directory.letterLines().isEmpty)
        #expect(try store.replay(letters.map(\.id)) == 0)
        #expect(try reopened(store).drainNumbers() == Array(0..<1_000))
    }

    @Test(
        "some dead letters can be replayed, rejected again or discarded; the rest keeps its ids",
        arguments: [true, false])
    func someAreReplayedAndOthersDiscarded(isEncrypted: Bool) throws {
        let store = try opened(encryption: isEncrypted ? .toy(9) : nil)
        try rejectAll(0..<10, in: store)
        let letters = try store.letters()
        #expect(try store.replay([letters[0].id, letters[4].id]) == 2)
        #expect(try store.discard([letters[5].id, letters[9].id, letters[0].id]) == 2)
        let rest = try store.letters()
        #expect(rest.map(\.id) == [1, 2, 3, 6, 7, 8].map { letters[$0].id })
        #expect(rest.compactMap(\.number) == [1, 2, 3, 6, 7, 8])
        let batch = try #require(try store.nextBatch())
        #expect(batch.numbers == [0, 4])
        #expect(try directory.files().allSatisfy { !$0.hasSuffix(".new") })
        try store.settle(batch, rejected: [batch.rejected("worse")[1]])
        try rejectAll([10], in: store)
        let last = try store.letters()
        #expect(last.compactMap(\.number) == [1, 2, 3, 6, 7, 8, 4, 10])
        #expect(last.filter { $0.reason == "worse" }.map(\.number) == [4])
    }

    @Test("a store that is full of its own dead letters replays them all")
    func fullStoreReplaysItsDeadLetters() throws {
        let store = try opened(capacity: 160_000)
        for start in stride(from: 0, to: 300, by: 20) { try rejectAll(start..<start + 20, in: store, padding: 1_000) }
        let letters = try store.letters()
        #expect(letters.count > 100)
        let before = store.deadLettersDropped
        #expect(try store.replay(letters.map(\.id)) == letters.count)
        #expect(store.deadLettersDropped == before)
        #expect(store.dropped.isEmpty)
        #expect(try directory.bytes() <= 160_000)
    }

    @Test("a replayed event is in a file before its dead letter is removed, even if events are buffered")
    func replayWritesBufferedEventsFirst() throws {
        let store = try opened(.buffered)
        try rejectAll(0..<2, in: store)
        #expect(try store.replay(store.letters().map(\.id)) == 2)
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
}

extension DeadLetterTests.End {
    fileprivate func happen(to store: TestedStore, in directory: TemporaryDirectory, _ time: VirtualTime) throws {
        switch self {
        case .evicted, .evictedForCritical:
            for number in 10..<60 {
                let line = EventLine.canonical(number, self == .evicted ? .normal : .critical, padding: 1_000)
                try store.append(line, isOptional: true)
            }
            #expect(try store.letters().isEmpty)
        case .expired:
            time.advance(by: .days(30))
            #expect(try store.letters().isEmpty)
        case .discarded:
            #expect(try store.discard(store.letters().map(\.id)) == 2)
        case .deletedByOthers: for file in try directory.letterFiles() { directory.remove(file) }
        case .damaged: for file in try directory.letterFiles() { try directory.write(Array("x\n".utf8), to: file) }
        case .stays: #expect(try store.letters().count == 2)
        }
    }
}
