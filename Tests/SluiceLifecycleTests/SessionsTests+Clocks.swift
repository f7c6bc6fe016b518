import SluiceLifecycle
import SluiceTesting
import TestSupport
import Testing

/// Events with times of their own, and a wall clock that is set in a session.
extension SessionsTests {
    @Test(
        "an event with a time of its own outside of the session has none, and neither begins nor extends one",
        arguments: [
            (-315_360_000, false), (-3_001, false), (-2_000, true), (0, true), (1_000, true), (1_001, false),
            (86_400_000, false),
        ] as [(Int64, Bool)],
        // The second one is later than the start of this test.
        [Timestamp(milliseconds: 1_577_836_800_000), Timestamp(milliseconds: 4_102_444_800_000)])
    func ownTimeHasNoSession(row: (offset: Int64, isInside: Bool), now: Timestamp) async throws {
        let (offset, isInside) = row
        let time = VirtualTime(wallTime: now)
        let test = try TestPipeline(time: time) { Sessions(.idle(.seconds(60))) }
        test.pipeline.track("A")
        time.advance(by: .seconds(2))
        let own = Timestamp(milliseconds: now.milliseconds + 2_000 + offset)
        test.pipeline.track("Imported") { $0.time = own }
        test.pipeline.track("Imported", id: .make(at: own)) { $0.time = own }
        time.advance(by: .seconds(58))
        test.pipeline.track("B")
        let imported = Array(repeating: isInside ? "Imported 1" : "Imported", count: 2)
        let rest = isInside ? ["B 1"] : ["$SessionEnd 1 0.0s", "$SessionStart 2", "B 2"]
        #expect(await test.story() == ["$SessionStart 1", "A 1"] + imported + rest)
    }

    /// Tracks an event of an earlier time, without and with an id of that time.
    private func importEvent(_ seconds: Int64, ago test: TestPipeline, by time: VirtualTime) {
        let own = Timestamp(milliseconds: time.wallTime().milliseconds - seconds * 1_000)
        test.pipeline.track("Imported") { $0.time = own }
        test.pipeline.track("Imported", id: .make(at: own)) { $0.time = own }
    }

    @Test("an event between the launch and the start of a session has none, and begins none")
    func timeBeforeStartHasNoSession() async throws {
        for mode in [Sessions.Mode.automatic, .manual] {
            // Later than the start of this test.
            let time = VirtualTime(wallTime: Timestamp(milliseconds: 4_102_444_800_000))
            let sessions = Sessions(mode)
            let test = try TestPipeline(time: time) { sessions }
            time.advance(by: .seconds(3_600))
            importEvent(1_800, ago: test, by: time)
            #expect(sessions.id == nil)
            if mode == .manual { sessions.start() }
            test.pipeline.track("A")
            importEvent(1_800, ago: test, by: time)
            time.advance(by: .seconds(20))
            importEvent(10, ago: test, by: time)
            let none = ["Imported", "Imported"]
            #expect(await test.story() == none + ["$SessionStart 1", "A 1"] + none + ["Imported 1", "Imported 1"])
        }
    }

    @Test("an event of the pause that ends a session has none, and begins none")
    func timeInPauseHasNoSession() async throws {
        let (_, test) = try await launch(.idle(.seconds(60)))
        test.pipeline.track("A")
        pass(100)
        importEvent(50, ago: test, by: time)
        test.pipeline.track("B")
        importEvent(50, ago: test, by: time)
        #expect(
            await test.story() == [
                "$SessionStart 1", "A 1", "Imported", "Imported", "$SessionEnd 1 0.0s", "$SessionStart 2", "B 2",
                "Imported", "Imported",
            ])
    }

    @Test("an event from 2020 has no session, also as the first one")
    func importedEventHasNoSession() async throws {
        let (sessions, test) = try await launch()
        test.pipeline.track("Imported") { $0.time = Timestamp(milliseconds: 1_577_836_800_000) }
        #expect(sessions.id == nil)
        #expect(await test.story() == ["Imported"])
    }

    /// A mode, the age of a session in seconds, a change of the wall clock in milliseconds, and whether it ends the session.
    /// After 15 s, another thread notes the state, so the ages are lower.
    static let clockChanges: [(mode: Sessions.Mode, age: Double, change: Int64, ends: Bool)] = [
        (.automatic, 0.75, 0, false), (.automatic, 0.75, 19_000, false), (.automatic, 14, -13_000, false),
        (.automatic, 14, 20_001, true), (.automatic, 14, -20_001, true), (.automatic, 0.75, 86_400_000, true),
        (.automatic, 0.75, -86_400_000, true), (.automatic, 7, -1_767_225_600_000, true),
        (.automatic(.seconds(3_600)), 0.75, 3_599_000, false), (.automatic(.seconds(3_600)), 1, -3_601_000, true),
        (.idle(.seconds(1_800)), 0.75, 1_799_000, false), (.idle(.seconds(1_800)), 2, 1_801_000, true),
        (.idle(.seconds(1_800)), 0.75, -172_800_000, true),
        (.idle(.seconds(Int64.max)), 5, 1_000_000_000_000, false), (.idle(.seconds(1)), 1.25, -1_001, true),
        // To a time before the session, and to one in it.
        (.automatic, 0.75, -19_000, true), (.automatic, 0.75, -1_751, true), (.automatic, 0.75, -1_750, false),
        (.automatic(.seconds(3_600)), 13, -15_000, true), (.automatic(.seconds(3_600)), 13, -11_000, false),
        (.idle(.seconds(1_800)), 9, -1_799_000, true), (.idle(.seconds(1_800)), 9, -8_000, false),
    ]

    private func changeClock(by milliseconds: Int64) {
        time.setWallTime(Timestamp(milliseconds: time.wallTime().milliseconds + milliseconds))
    }

    @Test(
        "a change of the wall clock beyond the limit, or to a time before the session, ends it, with its times",
        arguments: clockChanges)
    func clockChangeEndsSession(row: (mode: Sessions.Mode, age: Double, change: Int64, ends: Bool)) async throws {
        let start = time.wallTime().milliseconds
        let (_, test) = try await launch(row.mode)
        test.pipeline.track("A")
        pass(0.5)
        test.pipeline.track("B")
        pass(row.age - 0.5)
        changeClock(by: row.change)
        test.pipeline.track("C")
        pass(0.25)
        test.pipeline.track("D")
        let events = await test.events()
        let story = ["$SessionStart 1", "A 1", "B 1"]
        #expect(
            events.map(\.story) == story
                + (row.ends ? ["$SessionEnd 1 0.5s", "$SessionStart 2", "C 2", "D 2"] : ["C 1", "D 1"]))
        if let end = events.first(where: { $0.name == "$SessionEnd" }) {
            #expect(end.time.milliseconds == start + 500)
        }
        guard row.ends else { return }
        // The id of each session has a time at or before its events, and near them.
        for event in events {
            let id = try #require(event.properties["$session_id"]?.string.flatMap { EventID($0)?.time })
            #expect((0...1_000).contains(event.time.milliseconds - id.milliseconds), "\(event.story)")
        }
    }

    @Test("only the host's calls end a manual session", arguments: [86_400_000, -86_400_000, 20_001] as [Int64])
    func clockChangeKeepsManualSession(change: Int64) async throws {
        let (sessions, test) = try await launch(.manual)
        sessions.start()
        test.pipeline.track("A")
        pass(10)
        changeClock(by: change)
        test.pipeline.track("B")
        let now = time.wallTime()
        sessions.end()
        let events = await test.events()
        #expect(events.map(\.story) == ["$SessionStart 1", "A 1", "B 1", "$SessionEnd 1 10.0s"])
        #expect(events.last?.time == now)
    }

    @Test("a change of the wall clock is noticed by signals too", arguments: [86_400_000, -86_400_000] as [Int64])
    func signalNoticesClockChange(change: Int64) async throws {
        let start = time.wallTime().milliseconds
        let (_, test) = try await launch()
        test.pipeline.signal(.didBecomeActive)
        pass(30)
        test.pipeline.track("A")
        changeClock(by: change)
        pass(5)
        test.pipeline.signal(.didEnterBackground)
        pass(5)
        test.pipeline.signal(.didBecomeActive)
        let events = await test.events()
        try #require(events.map(\.story) == ["$SessionStart 1", "A 1", "$SessionEnd 1 30.0s", "$SessionStart 2"])
        #expect(events[2].time.milliseconds == start + 30_000)
        #expect(events[3].time.milliseconds == start + 40_000 + change)
    }

    @Test("after a crash, the end of the session has the time that the clock showed in it")
    func recoveredEndHasTimeOfItsClock() async throws {
        let start = time.wallTime().milliseconds
        let (_, test) = try await launch()
        test.pipeline.track("A")
        await time.waitForSleeper(within: .seconds(15)...(.seconds(15)))
        pass(10)
        test.pipeline.track("B")
        changeClock(by: 86_400_000)
        pass(5)
        // When it sleeps again, it has noted.
        await time.waitForSleeper(within: .seconds(30)...(.seconds(30)))
        let (_, next) = try await launch()
        next.pipeline.track("C")
        let end = try #require(await next.events().first)
        #expect(end.story == "$SessionEnd 1 10.0s")
        #expect(end.time.milliseconds == start + 10_000)
        _ = test
    }

    @Test(
        "a session that an event of an earlier moment begins has that event's time in its id",
        arguments: [0, 1, 999] as [Int64])
    func idHasTimeOfFirstEvent(earlier: Int64) async throws {
        let (_, test) = try await launch()
        let first = Timestamp(milliseconds: time.wallTime().milliseconds - earlier)
        test.pipeline.track("A") { $0.time = first }
        let events = await test.events()
        #expect(events.map(\.time) == [first, first])
        #expect(events[0].properties["$session_id"]?.string.flatMap { EventID($0)?.time } == first)
    }
}
