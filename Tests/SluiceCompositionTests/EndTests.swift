import Sluice
import SluiceDuration
import SluiceFilters
import SluiceIdentity
import SluiceLifecycle
import SluicePassiveLaunch
import SluiceTesting
import TestSupport
import Testing

/// The end of a pipeline, and what the next launch finds.
@Suite struct EndTests {
    enum Ending: CaseIterable, Sendable {
        case shutdown, termination, release, kill
    }

    private let directory: TemporaryDirectory
    private let store = RecordingStore()
    private let time = VirtualTime()

    init() throws {
        directory = try TemporaryDirectory()
    }

    private var place: Persistence { .file(directory.path) }

    private func build(
        _ store: RecordingStore, _ processors: any Processor..., at time: VirtualTime? = nil
    ) throws -> Pipeline {
        try Pipeline(environment: PipelineEnvironment(time: time ?? self.time)) {
            for processor in processors { processor }
            store
            NullTransport()
        }
    }

    /// A tool that is used for a moment, and ends. Returns its events.
    private func runTool(_ ending: Ending, lifecycleFirst: Bool = false) async throws -> [Event] {
        // After a kill, no clock of this launch goes on.
        let time = VirtualTime()
        let store = RecordingStore()
        let screens = Screens()
        let (sessions, lifecycle) = (Sessions(persistedIn: place), LifecycleEvents(persistedIn: place))
        var pipeline: Pipeline? =
            if lifecycleFirst {
                try build(store, lifecycle, sessions, screens, at: time)
            } else {
                try build(store, sessions, lifecycle, screens, at: time)
            }
        pipeline?.signal(.launched(.foreground))
        pipeline?.signal(.didBecomeActive)
        screens.enter("Main")
        pipeline?.track("Used")
        time.advance(by: .seconds(2))
        switch ending {
        case .shutdown: await pipeline?.shutdown(timeout: .seconds(600))
        case .termination:
            pipeline?.signal(.willTerminate)
            await pipeline?.shutdown(timeout: .seconds(600))
        case .release, .kill:
            // A pipeline that is released waits for a second only.
            if let pipeline { await writesAreDone(of: pipeline) }
            if ending == .release { pipeline = nil }
        }
        // After a kill, nothing is released.
        if ending == .kill, let pipeline { _ = Unmanaged.passRetained(pipeline) }
        return store.events
    }

    @Test("a shutdown ends the screens, the app and the session, as a termination does")
    func shutdownEndsEverything() async throws {
        let names = ["$SessionStart", "$AppStart", "$AppViewScreen", "Used", "$AppPageLeave", "$AppEnd", "$SessionEnd"]
        let events = try await runTool(.shutdown)
        #expect(events.map(\.name) == names)
        #expect(events.suffix(3).map { $0.properties["$event_duration"] } == [2_000.0, 2_000.0, 2_000.0])
        #expect(try await runTool(.termination).map(\.name) == names)
    }

    @Test(
        "after each of 58 tools that end normally, the next one recovers nothing, and has the next session index",
        arguments: [Ending.shutdown, .termination])
    func normalEndIsNotRecovered(ending: Ending) async throws {
        for launch in 1...58 {
            let events = try await runTool(ending, lifecycleFirst: launch % 2 == 0)
            #expect(events.allSatisfy { $0.properties["$recovered"] == nil })
            #expect(events.count { $0.name == "$AppEnd" } == 1 && events.count { $0.name == "$SessionEnd" } == 1)
            #expect(events.allSatisfy { $0.properties["$session_index"] == .int(Int64(launch)) })
        }
    }

    @Test("session indices don't repeat, whatever the end of the launches", arguments: Ending.allCases)
    func indicesDoNotRepeat(ending: Ending) async throws {
        for launch in 1...10 {
            let used = try await runTool(ending).first { $0.name == "Used" }
            #expect(used?.properties["$session_index"] == .int(Int64(launch)))
        }
    }

    @Test(
        "after a kill, the next launch recovers the end of the app, then that of the session, like live ones",
        arguments: [true, false], [Signal?.none, .launched(.foreground), .didBecomeActive, .willTerminate])
    func killIsRecovered(lifecycleFirst: Bool, first: Signal?) async throws {
        _ = try await runTool(.kill)
        let (sessions, lifecycle) = (Sessions(persistedIn: place), LifecycleEvents(persistedIn: place))
        let next = try lifecycleFirst ? build(store, lifecycle, sessions) : build(store, sessions, lifecycle)
        if let first { next.signal(first) }
        next.track("A")
        let recovered = store.events.filter { $0.properties["$recovered"] == true }
        #expect(recovered.map(\.name) == ["$AppEnd", "$SessionEnd"])
        #expect(recovered.allSatisfy { $0.properties["$session_index"] == 1 })
        #expect(store.events.first?.name == "$AppEnd")
        await next.shutdown(timeout: .seconds(600))
    }

    @Test("persisted limits are right in 100 of 100 restarts", arguments: [true, false])
    func limitsAreRightAfterRestarts(hasShutdown: Bool) async throws {
        for launch in 1...100 {
            var limits = Limits(.appCenter, persistedIn: place)
            limits.distinctEventNames = .dropEvent(over: 100)
            let store = RecordingStore()
            var pipeline: Pipeline? = try build(store, limits)
            // 99 names so far, and then one that is the 100th in the last launch only.
            pipeline?.track("Name \(launch)")
            if hasShutdown { await pipeline?.shutdown(timeout: .seconds(600)) }
            #expect(store.events.count == 1)
            if let pipeline { await writesAreDone(of: pipeline) }
            pipeline = nil
        }
        let limits: Limits = {
            var limits = Limits(.appCenter, persistedIn: place)
            limits.distinctEventNames = .dropEvent(over: 100)
            return limits
        }()
        let last = try build(store, limits)
        last.track("Name 101")
        last.track("Name 1")
        #expect(store.events.map(\.name) == ["Name 1"])
    }

    @Test("plugins that stood in a pipeline which was shut down begin anew in the next one")
    func pluginsBeginAnew() async throws {
        let (sessions, lifecycle) = (Sessions(persistedIn: place), LifecycleEvents(persistedIn: place))
        for pipeline in 1...2 {
            let store = RecordingStore()
            let next = try build(store, sessions, lifecycle)
            next.signal(.didBecomeActive)
            next.track("A")
            await next.shutdown(timeout: .seconds(600))
            #expect(store.events.map(\.name) == ["$SessionStart", "$AppStart", "A", "$AppEnd", "$SessionEnd"])
            #expect(store.events.allSatisfy { $0.properties["$session_index"] == .int(Int64(pipeline)) })
        }
    }

    @Test("a pipeline that is released without a shutdown is recovered like a kill, once")
    func releaseIsRecovered() async throws {
        #expect(try await runTool(.release).last?.name == "Used")
        let recovered = try await runTool(.shutdown).filter { $0.properties["$recovered"] == true }
        #expect(recovered.map(\.name) == ["$AppEnd", "$SessionEnd"])
        #expect(try await runTool(.shutdown).allSatisfy { $0.properties["$recovered"] == nil })
    }

    // MARK: Passive launches

    @Test(
        "a passive launch that is never opened has marked events, also the end of its session that is recovered later")
    func unopenedLaunchIsMarked() async throws {
        let first = try build(
            store, Sessions(persistedIn: place), PassiveLaunchTagger(), LifecycleEvents(persistedIn: place))
        first.signal(.launched(.passive))
        first.track("PushReceived")
        first.track("DataFetched")
        #expect(store.events.map(\.name) == ["$SessionStart", "$AppStartPassively", "PushReceived", "DataFetched"])
        #expect(store.events.allSatisfy { $0.properties["$app_state"] == "background" })
        waitForWrites(of: first)
        let later = RecordingStore()
        let second = try build(
            later, Sessions(persistedIn: place), PassiveLaunchTagger(), LifecycleEvents(persistedIn: place))
        second.signal(.launched(.foreground))
        #expect(later.events.map(\.name) == ["$SessionEnd", "$SessionStart"])
        #expect(later.events.map { $0.properties["$app_state"] } == ["background", nil])
        #expect(later.events[0].properties["$recovered"] == true)
        withExtendedLifetime(first) {}
    }

    @Test("the recovered end of a session that was opened after a passive launch is not marked")
    func openedLaunchIsNotMarked() async throws {
        let first = try build(store, Sessions(persistedIn: place), PassiveLaunchTagger())
        first.signal(.launched(.passive))
        first.signal(.didBecomeActive)
        waitForWrites(of: first)
        let later = RecordingStore()
        let second = try build(later, Sessions(persistedIn: place), PassiveLaunchTagger())
        second.signal(.launched(.passive))
        #expect(later.events.map(\.name) == ["$SessionEnd", "$SessionStart"])
        #expect(later.events.map { $0.properties["$app_state"] } == [nil, "background"])
        withExtendedLifetime(first) {}
    }

    @Test("a prewarmed launch reports nothing of its own, and its events are marked until the app becomes active")
    func prewarmingReportsNothing() throws {
        let screens = Screens()
        let pipeline = try build(store, Sessions(), PassiveLaunchTagger(), LifecycleEvents(), screens)
        pipeline.signal(.launched(.prewarmed))
        screens.enter("Home")
        #expect(store.events.isEmpty)
        pipeline.track("Loaded")
        time.advance(by: .seconds(3_600))
        pipeline.signal(.didBecomeActive)
        #expect(
            store.events.map(\.name) == [
                "$SessionStart", "Loaded", "$SessionEnd", "$SessionStart", "$AppStart", "$AppViewScreen",
            ])
        #expect(
            store.events.map { $0.properties["$app_state"] } == ["background", "background", nil, nil, nil, nil])
    }
}
