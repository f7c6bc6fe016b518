import Sluice
import SluiceDuration
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

    private let directory = TemporaryDirectory()
    private let store = RecordingStore()
    private let time = VirtualTime()

    private var place: Persistence { .file(directory.path) }

    private var environment: PipelineEnvironment { PipelineEnvironment(time: time) }

    /// A tool that is used for a moment, and ends. Returns its events.
    private func runTool(_ ending: Ending, lifecycleFirst: Bool = false) async throws -> [Event] {
        // After a kill, no clock of this launch goes on.
        let time = VirtualTime()
        let environment = PipelineEnvironment(time: time)
        let store = RecordingStore()
        let screens = Screens()
        let (sessions, lifecycle) = (Sessions(persistedIn: place), LifecycleEvents(persistedIn: place))
        var pipeline: Pipeline? =
            if lifecycleFirst {
                try store.pipeline(in: environment, lifecycle, sessions, screens)
            } else {
                try store.pipeline(in: environment, sessions, lifecycle, screens)
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

    @Test(
        "each launch has the next session index, and recovers the ends of a launch that was killed or released, and no others",
        arguments: Ending.allCases)
    func nextLaunchRecoversMissingEnds(ending: Ending) async throws {
        let isOrderly = ending == .shutdown || ending == .termination
        for launch in 1...20 {
            let events = try await runTool(ending, lifecycleFirst: launch.isMultiple(of: 2))
            let recovered = events.filter { $0.properties["$recovered"] == true }
            #expect(recovered.map(\.name) == (isOrderly || launch == 1 ? [] : ["$AppEnd", "$SessionEnd"]))
            for event in events {
                let isFormer = event.properties["$recovered"] == true
                #expect(event.properties["$session_index"] == .int(isFormer ? launch - 1 : launch))
            }
            let last = events.filter { $0.properties["$recovered"] == nil }.suffix(2).map(\.name)
            #expect(Set(last) == (isOrderly ? ["$AppEnd", "$SessionEnd"] : ["$AppViewScreen", "Used"]))
        }
    }

    @Test(
        "after a kill, the next launch recovers the end of the app, then that of the session, like live ones",
        arguments: [true, false], [Signal?.none, .launched(.foreground), .didBecomeActive, .willTerminate])
    func killIsRecovered(lifecycleFirst: Bool, first: Signal?) async throws {
        _ = try await runTool(.kill)
        let (sessions, lifecycle) = (Sessions(persistedIn: place), LifecycleEvents(persistedIn: place))
        let next = try store.pipeline(
            in: environment, lifecycleFirst ? lifecycle : sessions, lifecycleFirst ? sessions : lifecycle)
        if let first { next.signal(first) }
        next.track("A")
        let recovered = store.events.filter { $0.properties["$recovered"] == true }
        #expect(recovered.map(\.name) == ["$AppEnd", "$SessionEnd"])
        #expect(recovered.allSatisfy { $0.properties["$session_index"] == 1 })
        #expect(store.events.first?.name == "$AppEnd")
        await next.shutdown(timeout: .seconds(600))
    }

    @Test("plugins that stood in a pipeline which was shut down begin anew in the next one")
    func pluginsBeginAnew() async throws {
        let (sessions, lifecycle) = (Sessions(persistedIn: place), LifecycleEvents(persistedIn: place))
        for pipeline in 1...2 {
            let store = RecordingStore()
            let next = try store.pipeline(in: environment, sessions, lifecycle)
            next.signal(.didBecomeActive)
            next.track("A")
            await next.shutdown(timeout: .seconds(600))
            #expect(store.events.map(\.name) == ["$SessionStart", "$AppStart", "A", "$AppEnd", "$SessionEnd"])
            #expect(store.events.allSatisfy { $0.properties["$session_index"] == .int(Int64(pipeline)) })
        }
    }

    // MARK: Passive launches

    @Test("a prewarmed launch reports nothing of its own, and its events are marked until the app becomes active")
    func prewarmingReportsNothing() throws {
        let screens = Screens()
        let pipeline = try store.pipeline(
            in: environment, Sessions(), PassiveLaunchTagger(), LifecycleEvents(), screens)
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
