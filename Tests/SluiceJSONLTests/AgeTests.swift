import Sluice
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceJSONL

struct AgeTests {
    private let directory: TemporaryDirectory
    private let time = VirtualTime()

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func opened() throws -> TestedStore {
        try .opened(JSONLStore(at: directory.path), in: time.environment)
    }

    /// A process that stores one event.
    private func runProcess(_ number: Int) throws {
        let store = try opened()
        try store.append(EventLine(number))
        store.store.close()
    }

    @Test("events that wait longer than 25 days are dropped and counted")
    func expiresAfter25Days() throws {
        try runProcess(0)
        let store = try opened()
        time.advance(by: .days(24))
        try store.append(EventLine(1))
        time.advance(by: .days(3))
        #expect(try store.drain() == texts([1]))
        #expect(store.dropped == [.expired: 1])
        store.expectConservation()
    }

    @Test(
        "dead letters expire as waiting events do: in a running process, and when they are found",
        arguments: [false, true])
    func deadLettersExpire(isReopened: Bool) throws {
        var store = try opened()
        try store.append(EventLine(0))
        let batch = try #require(try store.nextBatch())
        try store.settle(batch, rejected: [DeadLetter(line: batch.events[0], reason: "no", date: .sample)])
        time.advance(by: .days(24))
        #expect(try store.store.deadLetters().count == 1)
        // Without an event of the last days, the clock of a later process would not be believed.
        try store.append(EventLine(1))
        time.advance(by: .days(3))
        if isReopened {
            store.store.close()
            store = try opened()
        }
        #expect(try store.store.deadLetters().isEmpty)
        #expect(store.deadLettersDropped == [.expired: 1])
        #expect(store.store.backlog.deadLetters == 0)
        #expect(try directory.letterFiles().isEmpty)
    }

    @Test("a young event does not expire with an old one, although both could have been in one segment")
    func youngEventDoesNotExpireWithOldOne() throws {
        let store = try opened()
        try store.append(EventLine(0))
        time.advance(by: .days(24))
        try store.append(EventLine(1))
        time.advance(by: .days(24))
        #expect(try store.drain() == texts([1]))
        #expect(store.dropped == [.expired: 1])
    }

    @Test("nothing expires early", arguments: [1, 7, 24, 25])
    func nothingExpiresEarly(days: Int) throws {
        let store = try opened()
        try store.append(EventLine(0))
        time.advance(by: .milliseconds(days * 86_400_000 / 25))
        try store.append(EventLine(1))
        time.advance(by: .days(25))
        #expect(try store.drain().contains(texts([1])[0]))
    }

    @Test(
        "events that were stored with a wrong clock get no older when the clock is corrected",
        arguments: [-30, 3_650])
    func correctedClockAgesNoEvents(days: Int) throws {
        try runProcess(0)
        time.advance(by: .days(20))
        time.moveWallTime(by: .days(days))
        try runProcess(1)
        time.moveWallTime(by: .days(-days))
        time.advance(by: .days(4))
        try runProcess(2)
        time.advance(by: .days(4))
        let last = try opened()
        // Event 0 is 28 days old by now, the others 8 and 4.
        #expect(last.dropped == [.expired: 1])
        #expect(try last.drain() == texts([1, 2]))
    }

    @Test("segments that were stored with a wrong clock do not affect the clock of the next process")
    func wrongClockAloneDoesNotSpoilNextProcess() throws {
        try runProcess(0)
        time.moveWallTime(by: .days(-30))
        try runProcess(1)
        let names = try directory.segments().map { $0.split(separator: "/").last ?? "" }.sorted()
        #expect(names.last?.hasSuffix("-0.jsonl") == true)
        try SystemFileSystem().removeFile(
            "\(directory.path)/\(try directory.segments().first { !$0.hasSuffix("-0.jsonl") } ?? "")")
        try runProcess(2)
        time.advance(by: .days(20))
        try runProcess(3)
        time.advance(by: .days(7))
        let last = try opened()
        #expect(last.dropped == [.expired: 1])
        #expect(try last.drain() == texts([1, 3]))
    }

    @Test("processes side by side whose clocks are years apart expire no events of each other")
    func differentClocksOfProcessesExpireNothing() throws {
        let first = try opened()
        time.moveWallTime(by: .days(-3_650))
        let second = try opened()
        try first.append(EventLine(0))
        try second.append(EventLine(1))
        first.store.close()
        second.store.close()
        time.moveWallTime(by: .days(3_650))
        let third = try opened()
        #expect(Set(try third.drain()) == Set(texts([0, 1])))
        #expect(third.dropped.isEmpty)
    }

    @Test("a huge age limit means never")
    func hugeAgeLimitMeansNever() throws {
        let store = try TestedStore.opened(
            JSONLStore(
                at: directory.path, durability: .interval(milliseconds: .max), maximumAge: .seconds(Int64.max)),
            in: time.environment)
        try store.append(EventLine(0))
        #expect(try store.drain() == texts([0]))
    }

    @Test("a batch in flight does not expire")
    func batchInFlightDoesNotExpire() throws {
        let store = try opened()
        try store.append(EventLine(0))
        let batch = try #require(try store.nextBatch())
        time.advance(by: .days(30))
        #expect(try store.nextBatch() == nil)
        try store.settle(batch)
        #expect(store.dropped.isEmpty)
        store.expectConservation()
    }

    @Test("age adds up over processes")
    func ageAddsUpOverProcesses() throws {
        try runProcess(0)
        time.advance(by: .days(10))
        try runProcess(1)
        time.advance(by: .days(10))
        try runProcess(2)
        time.advance(by: .days(10))
        let store = try opened()
        #expect(store.dropped == [.expired: 1])
        #expect(store.recovered == 1)
        #expect(try store.drain() == texts([1, 2]))
    }

    @Test("a clock that jumps while the store is open expires nothing", arguments: [-30, 26, 3_650])
    func clockJumpExpiresNothing(days: Int) throws {
        let store = try opened()
        try store.append(EventLine(0))
        time.moveWallTime(by: .days(days))
        try store.append(EventLine(1, .critical))
        time.advance(by: .days(2))
        try store.append(EventLine(2))
        #expect(try store.drain() == texts([1], .critical) + texts([0, 2]))
        #expect(store.dropped.isEmpty)
    }

    @Test(
        "a clock that jumps while the store is open expires nothing in later processes either",
        arguments: [-30, 26, 3_650])
    func clockJumpExpiresNothingInLaterProcesses(days: Int) throws {
        let store = try opened()
        try store.append(EventLine(0))
        time.moveWallTime(by: .days(days))
        _ = try store.nextBatch()
        try store.append(EventLine(1))
        store.store.close()
        for number in 2..<5 { try runProcess(number) }
        time.moveWallTime(by: .days(-days))
        let last = try opened()
        #expect(try last.drain() == texts(0..<5))
        #expect(last.dropped.isEmpty)
    }

    @Test("a clock that is years ahead when the store is opened expires nothing, in any number of processes")
    func clockYearsAheadExpiresNothing() throws {
        try runProcess(0)
        time.moveWallTime(by: .days(3_650))
        for number in 1..<10 {
            time.advance(by: .days(1))
            try runProcess(number)
        }
        time.moveWallTime(by: .days(-3_650))
        let store = try opened()
        #expect(try store.drain() == texts(0..<10))
        #expect(store.dropped.isEmpty)
    }
}
