import Sluice
import SluiceLifecycle
import SluiceMemory
import SluicePassiveLaunch
import SluiceTesting
import TestSupport
import Testing

/// The sessions of events, and their beginnings and ends.
@Suite struct SessionsTests {
    private let directory: TemporaryDirectory
    private let former = FormerLaunch()
    private let time = VirtualTime()

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// A new launch, after everything is on disk that the earlier ones write in the background.
    private func launch(_ mode: Sessions.Mode = .automatic) async throws -> (Sessions, TestPipeline) {
        let sessions = Sessions(mode, persistedIn: .file(directory.path))
        return (sessions, try former.next { try TestPipeline(time: time) { sessions } })
    }

    private func pass(_ seconds: Double) { time.advance(by: .seconds(seconds)) }

    @Test("a launch begins a session, and every event has its id and index")
    func launchBeginsSession() async throws {
        let (sessions, test) = try await launch()
        test.pipeline.signal(.launched(.foreground))
        test.pipeline.track("A")
        test.pipeline.track("B")
        let events = await test.events()
        #expect(events.map(\.name) == ["$SessionStart", "A", "B"])
        let id = try #require(sessions.id)
        #expect(
            events.allSatisfy { $0.properties["$session_id"] == .string(id) && $0.properties["$session_index"] == 1 })
        #expect(id.count == 36)
    }

    @Test("without signals the first event begins a session, and comes after $SessionStart")
    func firstEventBeginsSession() async throws {
        let (_, test) = try await launch()
        test.pipeline.track("A")
        #expect(await test.story() == ["$SessionStart 1", "A 1"])
    }

    @Test("each launch is a new session, and the index goes on")
    func eachLaunchIsANewSession() async throws {
        let (first, one) = try await launch()
        one.pipeline.track("A")
        one.pipeline.signal(.willTerminate)
        let (second, two) = try await launch()
        two.pipeline.track("B")
        #expect(await one.story() == ["$SessionStart 1", "A 1", "$SessionEnd 1 0.0s"])
        #expect(await two.story() == ["$SessionStart 2", "B 2"])
        #expect(first.id != second.id)
    }

    @Test("twenty seconds in the background end an automatic session", arguments: [(19.999, false), (20, true)])
    func backgroundEndsSession(seconds: Double, ends: Bool) async throws {
        let (_, test) = try await launch()
        test.pipeline.signal(.didBecomeActive)
        pass(30)
        test.pipeline.signal(.didEnterBackground)
        pass(seconds)
        test.pipeline.signal(.didBecomeActive)
        test.pipeline.track("A")
        let expected =
            ends ? ["$SessionStart 1", "$SessionEnd 1 30.0s", "$SessionStart 2", "A 2"] : ["$SessionStart 1", "A 1"]
        #expect(await test.story() == expected)
    }

    // MARK: The longest session

    @Test(
        "a session ends after its longest length, at the next event",
        arguments: [
            (Sessions.Mode.automatic, 86_399.0, false), (.automatic, 86_400, true),
            (.idle(.seconds(172_800)), 86_400, true),
        ])
    func longSessionEnds(mode: Sessions.Mode, seconds: Double, ends: Bool) async throws {
        let (_, test) = try await launch(mode)
        test.pipeline.track("A")
        await time.waitForSleeper(within: .seconds(15)...(.seconds(15)))
        pass(seconds - 10)
        // Once the session's timer sleeps again, it has recorded the current time. B is tracked at that time.
        await time.waitForSleeper(within: .seconds(seconds + 5)...(.seconds(seconds + 5)))
        test.pipeline.track("B")
        pass(10)
        test.pipeline.track("C")
        let end = ["$SessionEnd 1 86390.0s", "$SessionStart 2", "C 2"]
        #expect(await test.story() == ["$SessionStart 1", "A 1", "B 1"] + (ends ? end : ["C 1"]))
    }

    @Test("time in the foreground doesn't make a session longer than its longest length, also after a crash")
    func foregroundIsLimited() async throws {
        let (_, test) = try await launch()
        test.pipeline.signal(.didBecomeActive)
        await time.waitForSleeper(within: .seconds(15)...(.seconds(15)))
        pass(200_000)
        // When it sleeps again, it has noted.
        await time.waitForSleeper(within: .seconds(200_015)...(.seconds(200_015)))
        let (_, next) = try await launch()
        next.pipeline.track("A")
        #expect(await next.story() == ["$SessionEnd 1 86400.0s", "$SessionStart 2", "A 2"])
        test.pipeline.track("B")
        test.pipeline.signal(.willTerminate)
        #expect(
            await test.story() == [
                "$SessionStart 1", "$SessionEnd 1 86400.0s", "$SessionStart 2", "B 2", "$SessionEnd 2 0.0s",
            ])
    }

    @Test("the longest length can be another one, and manual sessions have none")
    func longestLengthIsHosts() async throws {
        let sessions = Sessions(maximumLength: .seconds(60))
        let test = try TestPipeline(time: time) { sessions }
        test.pipeline.track("A")
        pass(60)
        test.pipeline.signal(.didBecomeActive)
        #expect(await test.story() == ["$SessionStart 1", "A 1", "$SessionEnd 1 0.0s", "$SessionStart 2"])
        let manual = Sessions(.manual, maximumLength: .seconds(60))
        let other = try TestPipeline(time: time) { manual }
        manual.start()
        pass(1_000_000)
        other.pipeline.track("A")
        #expect(await other.story() == ["$SessionStart 1", "A 1"])
    }

    @Test(
        "a longest length of less than a second throws", arguments: [Duration.zero, .milliseconds(999), .seconds(-1)])
    func shortLengthThrows(length: Duration) {
        #expect(throws: SluiceError.self) { try TestPipeline { Sessions(maximumLength: length) } }
    }

    @Test("the sleep of the machine counts as background")
    func sleepCountsAsBackground() async throws {
        let (_, test) = try await launch()
        test.pipeline.signal(.didBecomeActive)
        test.pipeline.signal(.didEnterBackground)
        time.suspendMachine(for: .seconds(20))
        test.pipeline.signal(.didBecomeActive)
        #expect(await test.story().count == 3)
    }

    @Test("events in the background keep a session alive, and one after a long silence begins another")
    func backgroundEventsExtendSession()
        async throws
    {
        let (_, test) = try await launch()
        test.pipeline.signal(.didBecomeActive)
        test.pipeline.signal(.didEnterBackground)
        for _ in 1...3 {
            pass(15)
            test.pipeline.track("Fetched")
        }
        pass(20)
        test.pipeline.track("Later")
        #expect(
            await test.story() == [
                "$SessionStart 1", "Fetched 1", "Fetched 1", "Fetched 1", "$SessionEnd 1 45.0s", "$SessionStart 2",
                "Later 2",
            ])
    }

    @Test("a long time in the foreground does not end a session")
    func longForegroundKeepsSession() async throws {
        let (_, test) = try await launch()
        test.pipeline.signal(.didBecomeActive)
        test.pipeline.signal(.didEnterBackground)
        pass(10)
        test.pipeline.signal(.didBecomeActive)
        pass(3_600)
        test.pipeline.track("A")
        pass(3_600)
        test.pipeline.signal(.willResignActive)
        test.pipeline.signal(.didBecomeActive)
        #expect(await test.story() == ["$SessionStart 1", "A 1"])
    }

    @Test("an end has the time at which the session was last used")
    func endHasTimeOfLastUse() async throws {
        let start = time.wallTime()
        let (_, test) = try await launch()
        test.pipeline.signal(.didBecomeActive)
        pass(10)
        test.pipeline.signal(.didEnterBackground)
        pass(100)
        test.pipeline.signal(.didBecomeActive)
        let end = try #require(await test.events().first { $0.name == "$SessionEnd" })
        #expect(end.time == Timestamp(milliseconds: start.milliseconds + 10_000))
    }

    @Test("events after the termination of the process have no session, and begin none")
    func laterEventsHaveNoSession() async throws {
        let (_, test) = try await launch()
        test.pipeline.track("A")
        test.pipeline.signal(.willTerminate)
        test.pipeline.track("Last words")
        test.pipeline.signal(.willTerminate)
        #expect(await test.story() == ["$SessionStart 1", "A 1", "$SessionEnd 1 0.0s", "Last words"])
    }

    @Test("after a crash, the next launch recovers the session's end with the last known time")
    func crashedSessionIsRecovered()
        async throws
    {
        let start = time.wallTime()
        let id = try await crash()
        pass(600)
        let (_, next) = try await launch()
        next.pipeline.track("A")
        let events = await next.events()
        #expect(events.map(\.name) == ["$SessionEnd", "$SessionStart", "A"])
        #expect(
            events[0].properties == [
                "$session_id": .string(id), "$session_index": 1, "$event_duration": 15_000.0, "$recovered": true,
            ])
        #expect(events[0].time == Timestamp(milliseconds: start.milliseconds + 15_000))
        #expect(events[2].properties["$session_index"] == 2)
        let (_, third) = try await launch(.manual)
        third.pipeline.track("B")
        #expect(await third.events().map { $0.properties["$session_index"] } == [nil])
    }

    /// A launch that ends 15 s after its last note. Returns the id of its session.
    private func crash() async throws -> String {
        let (sessions, test) = try await launch()
        test.pipeline.signal(.didBecomeActive)
        await time.waitForSleeper(within: .seconds(15)...(.seconds(15)))
        pass(15)
        await time.waitForSleeper(within: .seconds(30)...(.seconds(30)))
        pass(14)
        waitForWrites(of: test.pipeline)
        return try #require(sessions.id)
    }

    @Test("a recovered $AppEnd belongs to the session of its launch", arguments: [true, false])
    func recoveredEndBelongsToItsSession(sessionsFirst: Bool) async throws {
        func launch() throws -> TestPipeline {
            let sessions = Sessions(persistedIn: .file(directory.path))
            let events = LifecycleEvents(persistedIn: .file(directory.path))
            return try TestPipeline(time: time) {
                if sessionsFirst {
                    sessions
                    events
                } else {
                    events
                    sessions
                }
            }
        }
        let crashed = try launch()
        crashed.pipeline.signal(.didBecomeActive)
        waitForWrites(of: crashed.pipeline)
        let next = try launch()
        next.pipeline.signal(.didBecomeActive)
        let events = await next.events()
        let indices = Dictionary(events.map { ($0.name, $0.properties["$session_index"]) }) { first, _ in first }
        #expect(indices == ["$AppEnd": 1, "$SessionEnd": 1, "$SessionStart": 2, "$AppStart": 2])
        _ = crashed
    }

    @Test("a session of a passive launch is marked")
    func passiveSessionIsMarked() async throws {
        let test = try TestPipeline(time: time) {
            Sessions()
            PassiveLaunchTagger()
            LifecycleEvents()
        }
        test.pipeline.signal(.launched(.passive))
        pass(20)
        test.pipeline.signal(.didBecomeActive)
        let events = await test.events()
        #expect(
            events.map { "\($0.name) \($0.properties["$app_state"] == "background")" } == [
                "$SessionStart true", "$AppStartPassively true", "$SessionEnd false", "$SessionStart false",
                "$AppStart false",
            ])
    }

    @Test("an event with its own session keeps it")
    func eventKeepsItsOwnSession() async throws {
        let (_, test) = try await launch()
        test.pipeline.track("A", ["$session_id": "mine"])
        #expect(await test.events().map(\.properties) == [["$session_id": "mine"]])
    }

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

    // MARK: Changes of the wall clock

    /// A mode, a change of the wall clock in the middle of a session in milliseconds, and whether it ends the session.
    static let clockChanges: [(mode: Sessions.Mode, change: Int64, ends: Bool)] = [
        (.automatic, 0, false), (.automatic, 19_000, false), (.automatic, -19_000, false), (.automatic, 20_001, true),
        (.automatic, -20_001, true), (.automatic, 86_400_000, true), (.automatic, -86_400_000, true),
        (.automatic, -1_767_225_600_000, true), (.automatic(.seconds(3_600)), 3_599_000, false),
        (.automatic(.seconds(3_600)), -3_601_000, true), (.idle(.seconds(1_800)), 1_799_000, false),
        (.idle(.seconds(1_800)), 1_801_000, true), (.idle(.seconds(1_800)), -172_800_000, true),
        (.idle(.seconds(Int64.max)), 1_000_000_000_000, false), (.idle(.seconds(1)), -1_001, true),
    ]

    private func changeClock(by milliseconds: Int64) {
        time.setWallTime(Timestamp(milliseconds: time.wallTime().milliseconds + milliseconds))
    }

    @Test("a change of the wall clock beyond the limit ends the session, with its times", arguments: clockChanges)
    func clockChangeEndsSession(row: (mode: Sessions.Mode, change: Int64, ends: Bool)) async throws {
        let start = time.wallTime().milliseconds
        let (_, test) = try await launch(row.mode)
        test.pipeline.track("A")
        pass(0.5)
        test.pipeline.track("B")
        pass(0.25)
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

    @Test("a damaged file is kept aside and reported")
    func damagedFileIsKeptAside() async throws {
        try directory.write(Array("{".utf8), to: "sessions.json")
        let said = Locked<[Diagnostic]>([])
        let sessions = Sessions(persistedIn: .file(directory.path))
        let pipeline = try Pipeline(onDiagnostic: { diagnostic in said.withLock { $0.append(diagnostic) } }) {
            sessions
            MemoryStore()
            NullTransport()
        }
        pipeline.track("A")
        await sessions.finish()
        #expect(said.withLock { $0.map(\.kind) } == [.plugin])
        #expect(directory.names.sorted() == ["sessions.json", "sessions.json.corrupt"])
    }

    @Test(
        "an impossible number of a session is ignored",
        arguments: [("9223372036854775807", "dd2dd0b0a5c3ef9c"), ("-1", ""), ("-9223372036854775808", "")])
    func impossibleIndexIsIgnored(number: String, checksum: String) async throws {
        try directory.write(
            Array(#"{"sessions":{"last_index":\#(number)},"checksum":"\#(checksum)"}"#.utf8), to: "sessions.json")
        let (sessions, test) = try await launch()
        test.pipeline.track("A")
        _ = try #require(sessions.id)
        #expect(await test.events().last?.properties["$session_index"] == 1)
    }

    @Test("extreme intervals work", arguments: [Duration.seconds(Int64.max), .zero, .seconds(-1)])
    func extremeIntervalsWork(interval: Duration) async throws {
        let pipeline = try Pipeline(environment: PipelineEnvironment(time: time)) {
            Sessions(persistedIn: .file(directory.path), notingEvery: interval)
            LifecycleEvents(persistedIn: .file(directory.path), notingEvery: interval)
            MemoryStore()
            NullTransport()
        }
        pipeline.signal(.launched(.foreground))
        pipeline.signal(.didBecomeActive)
        await pipeline.shutdown(timeout: .seconds(600))
        #expect(pipeline.ledger.isBalanced)
    }

    @Test("sessions of many threads are tracked once each, and in pairs")
    func concurrentSessionsComeInPairs() async throws {
        let (sessions, test) = try await launch(.idle(.seconds(1)))
        let time = time
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<50 {
                        time.advance(by: .seconds(1))
                        test.pipeline.track("A")
                    }
                }
            }
        }
        sessions.end()
        let events = await test.events()
        let starts = events.filter { $0.name == "$SessionStart" }.map { $0.properties["$session_id"] }
        let ends = events.filter { $0.name == "$SessionEnd" }.map { $0.properties["$session_id"] }
        #expect(starts.count == ends.count && starts.allSatisfy { ends.contains($0) })
        #expect(starts.count > 50)
    }
}
