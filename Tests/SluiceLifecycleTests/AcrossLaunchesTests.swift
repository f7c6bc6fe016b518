import SluiceLifecycle
import SluicePassiveLaunch
import SluiceTesting
import TestSupport
import Testing

/// Facts that one launch keeps for the next: the first launch, the first day, and the end of a launch that crashed.
@Suite struct AcrossLaunchesTests {
    private let directory = TemporaryDirectory()
    private let former = FormerLaunch()
    /// Noon, by UTC.
    private let time = VirtualTime(wallTime: Timestamp(milliseconds: 1_767_268_800_000))

    /// A new launch with these signals, after everything is on disk that the earlier ones write in the background.
    private func launch(_ signals: Signal..., utcOffset: Int = 0) async throws -> TestPipeline {
        let test = try former.next {
            try TestPipeline(time: time) {
                LifecycleEvents(persistedIn: .file(directory.path), utcOffset: { _ in utcOffset })
            }
        }
        for signal in signals { test.pipeline.signal(signal) }
        return test
    }

    private func flags(_ event: Event) -> [PropertyValue?] {
        [event.properties["$is_first_time"], event.properties["$is_first_day"]]
    }

    @Test("the first $AppStart of an installation is marked, and no later one, and so is a return from the background")
    func firstStartIsMarked() async throws {
        let first = try await launch(.didBecomeActive, .didEnterBackground, .didBecomeActive, .didEnterBackground)
        let starts = await first.events().filter { $0.name == "$AppStart" }
        #expect(starts.map(flags) == [[true, true], [false, true]])
        #expect(starts.map { $0.properties["$resume_from_background"] } == [false, true])
        let second = try await launch(.didBecomeActive)
        #expect(try flags(#require(await second.events().first)) == [false, true])
    }

    @Test(
        "the first day ends at midnight of the device's own time",
        arguments: [
            (0, 11, true), (0, 12, false), (120, 9, true), (120, 10, false), (-720, 11, true), (-720, 23, true),
        ])
    func firstDayEndsAtLocalMidnight(utcOffset: Int, hours: Int, isFirst: Bool) async throws {
        _ = try await launch(.didBecomeActive, .didEnterBackground, utcOffset: utcOffset)
        time.advance(by: .seconds(hours * 3_600))
        let second = try await launch(.didBecomeActive, utcOffset: utcOffset)
        #expect(try flags(#require(await second.events().first)) == [false, .bool(isFirst)])
    }

    @Test("a passive launch begins the first day, and is not the first start")
    func passiveLaunchBeginsFirstDay() async throws {
        let first = try await launch(.launched(.passive))
        #expect(try flags(#require(await first.events().first)) == [nil, true])
        time.advance(by: .seconds(86_400))
        let second = try await launch(.didBecomeActive)
        #expect(try flags(#require(await second.events().first)) == [true, false])
    }

    @Test("without a persistence, there are neither events of versions nor properties about earlier launches")
    func memoryKnowsNoEarlierLaunches() async throws {
        let test = try TestPipeline { LifecycleEvents(appVersion: "1.0") }
        test.pipeline.signal(.didBecomeActive)
        let start = try await test.event()
        #expect(start.name == "$AppStart" && start.properties == ["$resume_from_background": false])
    }

    @Test("after a crash, the end is recovered with the last known time")
    func crashedEndIsRecovered() async throws {
        let start = time.wallTime()
        let crashed = try await launch(.didBecomeActive)
        await time.waitForSleeper(within: .seconds(15)...(.seconds(15)))
        time.advance(by: .seconds(15))
        // When it sleeps again, it has noted.
        await time.waitForSleeper(within: .seconds(30)...(.seconds(30)))
        time.advance(by: .seconds(7))
        let next = try await launch()
        time.advance(by: .seconds(3_600))
        next.pipeline.signal(.launched(.foreground))
        next.pipeline.signal(.didBecomeActive)
        let events = await next.events()
        #expect(events.map(\.name) == ["$AppEnd", "$AppStart"])
        #expect(events[0].properties == ["$event_duration": 15_000.0, "$recovered": true])
        #expect(events[0].time == Timestamp(milliseconds: start.milliseconds + 15_000))
        _ = crashed
    }

    @Test("the end of a crashed launch is recovered once, even if the next launch ends before the app is active")
    func endIsRecoveredOnce() async throws {
        _ = try await launch(.didBecomeActive)
        _ = try await launch(.launched(.foreground))  // Tracks the end, and is killed.
        let third = try await launch()
        #expect(await third.events().isEmpty)
    }

    @Test("a recovered end is in no session of the launch that recovers it, even immediately after the crash")
    func recoveredEndIsInNoLaterSession() async throws {
        func launch() throws -> TestPipeline {
            try former.next {
                try TestPipeline(time: time) {
                    Sessions()
                    LifecycleEvents(persistedIn: .file(directory.path))
                }
            }
        }
        try launch().pipeline.signal(.didBecomeActive)
        let next = try launch()
        let events = await next.events()
        #expect(events.map(\.name) == ["$AppEnd"] && events[0].properties["$session_id"] == nil)
    }

    @Test("a recovered end from before the recovered session has none", arguments: [(10, false), (1, true), (0, true)])
    func endBeforeSessionHasNone(seconds: Int, isInSession: Bool) async throws {
        let sessions = Sessions(persistedIn: .file(directory.path))
        func launch(_ sessions: Sessions) throws -> TestPipeline {
            try former.next {
                try TestPipeline(time: time) {
                    sessions
                    LifecycleEvents(persistedIn: .file(directory.path))
                }
            }
        }
        let crashed = try launch(sessions)
        crashed.pipeline.signal(.didBecomeActive)
        time.advance(by: .seconds(seconds))
        // The end of the app is known to be at its start.
        sessions.start()
        let next = try launch(Sessions(persistedIn: .file(directory.path)))
        next.pipeline.track("Event")
        let events = await next.events()
        #expect(events.prefix(2).map(\.name) == ["$AppEnd", "$SessionEnd"])
        #expect(events[0].properties["$session_id"] == (isInSession ? events[1].properties["$session_id"] : nil))
        #expect(events[1].properties["$session_index"] == 2)
    }

    @Test("after a crash before the first note, the end is at the start")
    func immediateCrashEndsAtStart() async throws {
        let crashed = try await launch(.didBecomeActive)
        let next = try await launch(.launched(.passive))
        let events = await next.events()
        #expect(events.map(\.name) == ["$AppEnd", "$AppStartPassively"])
        #expect(events[0].properties["$event_duration"] == 0.0)
        let third = try await launch(.didBecomeActive)
        #expect(await third.events().map(\.name) == ["$AppStart"])
        _ = crashed
    }

    @Test(
        "events that a passive launch recovers are not marked as in the background",
        arguments: [true, false])
    func recoveredEventsAreNotMarked(taggerFirst: Bool) async throws {
        func launch() throws -> TestPipeline {
            let tagger = PassiveLaunchTagger()
            return try TestPipeline(time: time) {
                if taggerFirst { tagger }
                LifecycleEvents(persistedIn: .file(directory.path))
                Sessions(persistedIn: .file(directory.path))
                if !taggerFirst { tagger }
            }
        }
        let crashed = try launch()
        crashed.pipeline.signal(.didBecomeActive)
        waitForWrites(of: crashed.pipeline)
        let next = try launch()
        next.pipeline.signal(.launched(.passive))
        let events = await next.events()
        let recovered = events.filter { $0.properties["$recovered"] == true }
        #expect(Set(recovered.map(\.name)) == ["$AppEnd", "$SessionEnd"])
        #expect(recovered.allSatisfy { $0.properties["$app_state"] == nil })
        let passive = events.first { $0.name == "$AppStartPassively" }
        #expect(passive?.properties["$app_state"] == "background")
        _ = crashed
    }

    @Test("a tracked end is not recovered", arguments: [Signal.didEnterBackground, .willTerminate])
    func trackedEndIsNotRecovered(end: Signal) async throws {
        _ = try await launch(.didBecomeActive, end)
        let next = try await launch(.didBecomeActive)
        #expect(await next.events().map(\.name) == ["$AppStart"])
    }

    @Test(
        "a damaged file is kept aside and reported, and no start is called the first",
        arguments: [
            "", "{", "[]", "null", "{}", #"{"has_started":true}"#, #"{"lifecycle":{"has_started":true}}"#,
            #"{"lifecycle":{"has_started":true},"checksum":"0"}"#,
        ])
    func damagedFileIsKeptAside(text: String) async throws {
        try directory.write(Array(text.utf8), to: "lifecycle.json")
        let test = try await launch(.didBecomeActive)
        #expect(test.diagnostics.count == 1)
        #expect(try directory.read("lifecycle.json.corrupt") == Array(text.utf8))
        #expect(try flags(#require(await test.events().first)) == [false, false])
        #expect(try await launch().diagnostics.isEmpty)
    }
}
