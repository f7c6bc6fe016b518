import Sluice
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceJSONL

struct AgeTests: TimedStoreSuite {
    let directory = TemporaryDirectory()
    let files = FaultyFileSystem()
    let time = VirtualTime()

    /// A process that stores one event.
    private func runProcess(_ number: Int) throws {
        let store = try opened()
        try store.append(EventLine(number))
        store.store.close()
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

    // MARK: Pauses between processes

    /// What happens between two processes.
    enum Pause: Sendable, CustomTestStringConvertible {
        /// Time passes, and the machine is on or asleep.
        case on(Duration)
        /// The machine is off for this time.
        case off(Duration)
        /// The wall clock is set, and no time passes.
        case set(Duration)

        var testDescription: String { "\(self)" }
    }

    struct PauseRow: Sendable {
        let limit: Duration
        let pauses: [Pause]
        let expires: Bool
    }

    private static let pauseRows: [PauseRow] = [
        // The limit is shorter and longer than the pause, by little and by much.
        (.days(7), [.on(.days(8))], true), (.days(7), [.on(.days(6))], false), (.days(7), [.on(.days(40))], true),
        (.days(7), [.on(.days(20_000))], true), (.seconds(3_600), [.on(.days(1))], true),
        (.seconds(3_600), [.on(.seconds(3_500))], false), (.days(25), [.on(.days(27))], true),
        (.days(25), [.on(.days(24))], false), (.days(365), [.on(.days(400))], true),
        (.days(365), [.on(.days(360))], false), (.days(3_650), [.on(.days(3_000))], false),
        // The machine is off.
        (.days(7), [.off(.days(8))], true), (.days(7), [.off(.days(6))], false), (.days(7), [.off(.days(364))], true),
        (.seconds(60), [.off(.days(1))], true), (.days(25), [.off(.days(24)), .on(.days(3))], true),
        (.days(25), [.off(.days(13)), .off(.days(14))], true), (.days(25), [.off(.days(12)), .off(.days(12))], false),
        (.days(3_650), [.off(.days(4_000))], false), (.days(3_650), [.off(.days(3_000))], false),
        // The wall clock is set while the machine is on.
        (.days(7), [.set(.days(8))], false), (.days(7), [.set(.days(30))], false),
        (.days(7), [.set(.days(-30))], false),
        (.days(7), [.set(.days(3_650))], false), (.days(7), [.set(.days(-3_650))], false),
        (.days(7), [.set(.days(20_454))], false), (.days(7), [.set(.days(-30)), .on(.days(8))], true),
        (.days(7), [.set(.days(400)), .on(.days(6))], false), (.days(7), [.set(.days(30)), .set(.days(-30))], false),
        // A clock that was wrong, and is right before the machine is off.
        (.days(7), [.set(.days(20_454)), .off(.days(1))], false),
        (.days(7), [.set(.days(20_454)), .off(.days(8))], true),
        (.days(7), [.set(.days(-20_454)), .set(.days(20_454)), .off(.days(6))], false),
        // An empty battery: the clock is wrong after the restart.
        (.days(7), [.off(.days(3_650))], false), (.days(7), [.off(.days(-20_454))], false),
        (.days(7), [.off(.days(-30)), .on(.days(6))], false), (.days(7), [.off(.days(-30)), .on(.days(8))], true),
        (.days(7), [.off(.days(-3_650)), .off(.days(3_656))], false),
        (.days(7), [.off(.days(-3_650)), .off(.days(3_658))], true),
        (.days(7), [.off(.days(3_650)), .set(.days(-3_650)), .off(.days(8))], true),
    ].map { PauseRow(limit: $0, pauses: $1, expires: $2) }

    @Test(
        "events expire after a pause that is longer than the age limit, and not because the wall clock is set",
        arguments: pauseRows)
    func pauseExpiresEvents(row: PauseRow) throws {
        var restarts = 0
        files.pretend(bootID: "first")
        for number in 0..<10 {
            let store = try opened(maximumAge: row.limit)
            try store.append(EventLine(number))
            store.store.close()
        }
        for pause in row.pauses {
            switch pause {
            case .on(let duration): time.advance(by: duration)
            case .set(let duration): time.moveWallTime(by: duration)
            case .off(let duration):
                restarts += 1
                files.pretend(bootID: "restart \(restarts)")
                time.moveWallTime(by: duration)
            }
            // A process that delivers nothing, as without a network.
            try opened(maximumAge: row.limit).store.close()
        }
        let store = try opened(maximumAge: row.limit)
        #expect(try store.drain() == (row.expires ? [] : texts(0..<10)))
    }

    @Test(
        "age adds up over processes, also if the lock file is damaged",
        arguments: [nil, "", "\n", "x", "{\"boot\":\"first\"", "\u{0}\u{0}"])
    func ageAddsUp(text: String?) throws {
        for number in 0..<3 {
            try runProcess(number)
            for name in directory.names {
                guard let text else { continue }
                if text.isEmpty {
                    try directory.write([], to: "\(name)/lock")
                } else {
                    try directory.append(text, to: "\(name)/lock")
                }
            }
            time.advance(by: .days(10))
        }
        let last = try opened()
        #expect(last.dropped == [.expired: 1] && last.recovered == 1)
        #expect(try last.drain() == texts([1, 2]))
    }

    @Test(
        "a drive that refuses the reading of the clock is asked again, so a clock that is set ages no event",
        arguments: [(1, 30), (1, -30), (2, 20_454), (3, 400)])
    func refusedReadingIsRepeated(refusals: Int, days: Int) throws {
        for deletesLock in [false, true] {
            let place = TemporaryDirectory()
            if !deletesLock { files.fail(.write, with: .inputOutput, times: refusals) }
            let store = try opened(maximumAge: .days(7), in: place)
            if deletesLock {
                place.remove("\(place.names[0])/lock")
                files.fail(.write, with: .inputOutput, times: refusals)
            }
            for number in 0..<refusals + 2 {
                time.advance(by: .milliseconds(2))
                try store.append(EventLine(number), isOptional: true)
            }
            files.heal()
            let stored = store.waiting
            #expect(stored > 0)
            time.moveWallTime(by: .days(days))
            store.store.close()
            let next = try opened(maximumAge: .days(7), in: place)
            #expect(next.dropped.isEmpty)
            #expect(try next.drain().count == stored)
        }
    }

    @Test("the lock file stays small, however often the machine is restarted")
    func lockFileStaysSmall() throws {
        for number in 0..<70 {
            files.pretend(bootID: "\(number)")
            try runProcess(number)
            time.advance(by: .seconds(3_600))
        }
        let name = try #require(directory.names.first)
        #expect(try directory.read("\(name)/lock").count < 8_192)
    }

    @Test("a huge age limit means never")
    func hugeAgeLimitMeansNever() throws {
        let store = try opened(.interval(milliseconds: .max), maximumAge: .seconds(Int64.max))
        try store.append(EventLine(0))
        #expect(try store.drain() == texts([0]))
    }

    @Test("a batch in flight does not expire")
    func batchInFlightDoesNotExpire() throws {
        let store = try opened()
        let batch = try store.batch([EventLine(0)])
        time.advance(by: .days(30))
        #expect(try store.nextBatch() == nil)
        try store.settle(batch)
        #expect(store.dropped.isEmpty)
    }
}
