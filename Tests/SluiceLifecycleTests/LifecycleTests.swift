import SluiceLifecycle
import SluicePassiveLaunch
import SluiceTesting
import TestSupport
import Testing

@Suite("Lifecycle: signals in, events out")
struct LifecycleTests {
    /// In both orders, because neither stage may depend on the other's place.
    private func test(taggerFirst: Bool, time: VirtualTime = VirtualTime()) throws -> TestPipeline {
        try TestPipeline(time: time) {
            if taggerFirst { PassiveLaunchTagger() }
            LifecycleEvents()
            if !taggerFirst { PassiveLaunchTagger() }
        }
    }

    @Test(
        "signals cause events, and one diagnostic says at the end that there was none",
        arguments: [
            ("no signal", [], []),
            ("first becoming active", [.launched(.foreground), .didBecomeActive], ["$AppStart"]),
            ("a launch alone", [.launched(.foreground)], []),
            (
                "an interruption, such as the notification centre",
                [.didBecomeActive, .willResignActive, .didBecomeActive], ["$AppStart"]
            ),
            (
                "entering the background", [.didBecomeActive, .willResignActive, .didEnterBackground],
                ["$AppStart", "$AppEnd"]
            ),
            (
                "return from the background",
                [.didBecomeActive, .willResignActive, .didEnterBackground, .didBecomeActive],
                ["$AppStart", "$AppEnd", "$AppStart"]
            ),
            ("a passive launch", [.launched(.passive)], ["$AppStartPassively"]),
            ("a passive launch reported twice", [.launched(.passive), .launched(.passive)], ["$AppStartPassively"]),
            (
                "a passive launch that the user opens", [.launched(.passive), .didBecomeActive],
                ["$AppStartPassively", "$AppStart"]
            ),
            (
                "a passive launch that ends unseen", [.launched(.passive), .didEnterBackground, .willTerminate],
                ["$AppStartPassively"]
            ),
            ("the end in the foreground", [.didBecomeActive, .willTerminate], ["$AppStart", "$AppEnd"]),
            (
                "the end after the background, told once",
                [.didBecomeActive, .didEnterBackground, .didEnterBackground, .willTerminate], ["$AppStart", "$AppEnd"]
            ),
            ("a passive launch reported to a running app", [.didBecomeActive, .launched(.passive)], ["$AppStart"]),
            ("a background that nothing came before", [.didEnterBackground], []),
            ("the network", [.connectivity(.unavailable), .connectivity(.available)], []),
        ] as [(String, [Signal], [String])], [true, false])
    func signalsMakeEvents(row: (what: String, signals: [Signal], events: [String]), taggerFirst: Bool) async throws {
        let test = try test(taggerFirst: taggerFirst)
        for signal in row.signals { test.pipeline.signal(signal) }
        #expect(test.diagnostics.isEmpty)
        #expect(await test.events().map(\.name) == row.events, "\(row.what)")
        let isReported = ["no signal", "the network"].contains(row.what)
        #expect(test.diagnostics.map { $0.message.contains("no signal has come") } == (isReported ? [true] : []))
    }

    @Test("$AppEnd has the time in the foreground with interruptions, without sleep and background, never less than 0")
    func endHasForegroundTime() async throws {
        let time = VirtualTime()
        let test = try test(taggerFirst: false, time: time)
        for visit in 1...2 {
            test.pipeline.signal(.didBecomeActive)
            time.advance(by: .seconds(visit))
            test.pipeline.signal(.willResignActive)
            time.suspendMachine(for: .seconds(50))
            time.advance(by: .seconds(1))
            test.pipeline.signal(.didBecomeActive)
            time.advance(by: .microseconds(120_457))
            test.pipeline.signal(.didEnterBackground)
            time.advance(by: .seconds(100))
        }
        test.pipeline.signal(.didBecomeActive)
        time.advance(by: .seconds(-5))
        test.pipeline.signal(.didEnterBackground)
        let ends = await test.events().filter { $0.name == "$AppEnd" }
        #expect(ends.map(\.properties) == [2_120.457, 3_120.457, 0].map { ["$event_duration": .double($0)] })
    }

    @Test(
        "after a passive launch all events are marked until the app is active, in either order of the stages",
        arguments: [true, false])
    func passiveLaunchMarksEvents(taggerFirst: Bool) async throws {
        let test = try test(taggerFirst: taggerFirst)
        test.pipeline.signal(.launched(.passive))
        test.pipeline.track("Fetched")
        test.pipeline.signal(.connectivity(.available))
        test.pipeline.signal(.didEnterBackground)
        test.pipeline.track("FetchedMore")
        test.pipeline.signal(.didBecomeActive)
        test.pipeline.track("Tapped")
        test.pipeline.signal(.didEnterBackground)
        test.pipeline.track("Ticked")
        let events = await test.events()
        #expect(
            events.map(\.name) == [
                "$AppStartPassively", "Fetched", "FetchedMore", "$AppStart", "Tapped", "$AppEnd", "Ticked",
            ])
        #expect(
            events.map { $0.properties["$app_state"] } == [
                "background", "background", "background", nil, nil, nil, nil,
            ])
    }

    @Test("the tagger and the lifecycle events work without each other, and an event's own $app_state stays")
    func taggerAndLifecycleWorkAlone() async throws {
        let tagged = try TestPipeline { PassiveLaunchTagger() }
        tagged.pipeline.signal(.launched(.passive))
        tagged.pipeline.track("Event")
        tagged.pipeline.track("Event", ["$app_state": "mine"])
        #expect(await tagged.events().map(\.properties) == [["$app_state": "background"], ["$app_state": "mine"]])
        let untagged = try TestPipeline { LifecycleEvents() }
        untagged.pipeline.signal(.launched(.passive))
        #expect(try await untagged.event().properties.isEmpty)
    }
}
