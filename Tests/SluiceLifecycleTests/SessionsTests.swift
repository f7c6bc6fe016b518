import SluiceLifecycle
import SluiceTesting
import TestSupport
import Testing

/// The sessions of events, and their beginnings and ends.
@Suite struct SessionsTests {
    let directory = TemporaryDirectory()
    let former = FormerLaunch()
    let time = VirtualTime()

    /// A new launch, after everything is on disk that the earlier ones write in the background.
    func launch(_ mode: Sessions.Mode = .automatic) async throws -> (Sessions, TestPipeline) {
        let sessions = Sessions(mode, persistedIn: .file(directory.path))
        return (sessions, try former.next { try TestPipeline(time: time) { sessions } })
    }

    func pass(_ seconds: Double) { time.advance(by: .seconds(seconds)) }

    // MARK: Stories

    /// What a host or its system does.
    enum Step: Sendable {
        case track(String)
        case signal(Signal)
        case wait(Double)
        case sleep(Double)
        case start, end
    }

    struct Use: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let story: [String]
        let mode: Sessions.Mode
        let maximumLength: Duration
        let steps: [Step]

        init(
            _ description: String, _ story: [String], mode: Sessions.Mode = .automatic,
            maximumLength: Duration = .seconds(86_400), _ steps: Step...
        ) {
            (testDescription, self.story, self.mode) = (description, story, mode)
            (self.maximumLength, self.steps) = (maximumLength, steps)
        }
    }

    static let uses = [
        Use("without signals the first event begins a session", ["$SessionStart 1", "A 1"], .track("A")),
        Use(
            "less than twenty seconds in the background don't end an automatic session", ["$SessionStart 1", "A 1"],
            .signal(.didBecomeActive), .wait(30), .signal(.didEnterBackground), .wait(19.999),
            .signal(.didBecomeActive), .track("A")),
        Use(
            "twenty seconds in the background end it",
            ["$SessionStart 1", "$SessionEnd 1 30.0s", "$SessionStart 2", "A 2"],
            .signal(.didBecomeActive), .wait(30), .signal(.didEnterBackground), .wait(20), .signal(.didBecomeActive),
            .track("A")),
        Use(
            "the sleep of the machine counts as background",
            ["$SessionStart 1", "$SessionEnd 1 0.0s", "$SessionStart 2"],
            .signal(.didBecomeActive), .signal(.didEnterBackground), .sleep(20), .signal(.didBecomeActive)),
        Use(
            "events in the background keep a session alive, and one after a long silence begins another",
            ["$SessionStart 1", "B 1", "B 1", "B 1", "$SessionEnd 1 45.0s", "$SessionStart 2", "Later 2"],
            .signal(.didBecomeActive), .signal(.didEnterBackground), .wait(15), .track("B"), .wait(15), .track("B"),
            .wait(15), .track("B"), .wait(20), .track("Later")),
        Use(
            "a long time in the foreground does not end a session", ["$SessionStart 1", "A 1"],
            .signal(.didBecomeActive), .signal(.didEnterBackground), .wait(10), .signal(.didBecomeActive), .wait(3_600),
            .track("A"), .wait(3_600), .signal(.willResignActive), .signal(.didBecomeActive)),
        Use(
            "events after the termination of the process have no session, and begin none",
            ["$SessionStart 1", "A 1", "$SessionEnd 1 0.0s", "Last words"], .track("A"), .signal(.willTerminate),
            .track("Last words"), .signal(.willTerminate)),
        Use(
            "the longest length can be another one",
            ["$SessionStart 1", "A 1", "$SessionEnd 1 0.0s", "$SessionStart 2"], maximumLength: .seconds(60),
            .track("A"),
            .wait(60), .signal(.didBecomeActive)),
        Use(
            "manual sessions have no longest length", ["$SessionStart 1", "A 1"], mode: .manual,
            maximumLength: .seconds(60),
            .start, .wait(1_000_000), .track("A")),
        Use(
            "after an idle limit the next event begins a session, whose start comes before it",
            ["$SessionStart 1", "A 1", "B 1", "B 1", "$SessionEnd 1 118.0s", "$SessionStart 2", "C 2"],
            mode: .idle(.seconds(60)), .track("A"), .wait(59), .track("B"), .wait(59), .track("B"), .wait(60),
            .track("C")),
        Use(
            "a manual session begins and ends only by the host's calls",
            [
                "None", "$SessionStart 1", "First 1", "$SessionEnd 1 3600.0s", "$SessionStart 2", "Second 2",
                "$SessionEnd 2 0.0s", "None again",
            ], mode: .manual, .signal(.launched(.foreground)), .signal(.didBecomeActive), .track("None"), .start,
            .signal(.didEnterBackground), .wait(3_600), .signal(.didBecomeActive), .track("First"), .start,
            .track("Second"), .end, .end, .track("None again")),
    ]

    @Test("a host's use of sessions gives this story", arguments: uses)
    func useGivesStory(use: Use) async throws {
        let sessions = Sessions(use.mode, maximumLength: use.maximumLength)
        let test = try TestPipeline(time: time) { sessions }
        for step in use.steps {
            switch step {
            case .track(let name): test.pipeline.track(name)
            case .signal(let signal): test.pipeline.signal(signal)
            case .wait(let seconds): pass(seconds)
            case .sleep(let seconds): time.suspendMachine(for: .seconds(seconds))
            case .start: sessions.start()
            case .end: sessions.end()
            }
        }
        #expect(await test.story() == use.story)
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

    @Test("after a crash, the next launch recovers the session's end with the last known time")
    func crashedSessionIsRecovered() async throws {
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

    @Test("an event with its own session keeps it")
    func eventKeepsItsOwnSession() async throws {
        let (_, test) = try await launch()
        test.pipeline.track("A", ["$session_id": "mine"])
        #expect(await test.events().map(\.properties) == [["$session_id": "mine"]])
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
        let pipeline = try RecordingStore().pipeline(
            in: PipelineEnvironment(time: time), Sessions(persistedIn: .file(directory.path), notingEvery: interval),
            LifecycleEvents(persistedIn: .file(directory.path), notingEvery: interval))
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
