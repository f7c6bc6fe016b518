import AdSupport
import AppTrackingTransparency
import CoreTelephony
import Foundation
import Network
import Security
import Sluice
import SluiceAdvertising
import SluiceIdentity
import SluiceLifecycle
import SluiceMemory
import SluicePassiveLaunch
import SluiceTesting
import TestSupport
import Testing
import UIKit

@testable import SluiceAutoProperties

/// The adapters for Apple's platforms, driven through the real notification centre and stand-ins for the rest.
@Suite(.serialized) @MainActor struct AppleTests {
    /// Records the pipeline's signals.
    private final class Signals: Processor {
        let all = Locked<[Signal]>([])
        func process(_ event: inout Event) -> Disposition { .keep }
        func update(for signal: Signal) { all.withLock { $0.append(signal) } }
    }

    private let signals = Signals()
    private let transport = ScriptedTransport()
    private let center = NotificationCenter()
    private let time = VirtualTime()
    private let pipeline: Pipeline

    init() throws {
        let (signals, transport) = (signals, transport)
        // By the real clock, background time could be over before a busy machine has sent.
        pipeline = try Pipeline(environment: PipelineEnvironment(time: time)) {
            signals
            LifecycleEvents()
            MemoryStore()
            transport
        }
    }

    private final class Adapters { var all: [AppSignals] = [] }
    private let adapters = Adapters()

    /// Keeps an adapter until the test has ended.
    private func keep(_ app: AppSignals) { adapters.all.append(app) }

    private func post(_ names: Notification.Name...) { for name in names { center.post(name: name, object: nil) } }

    /// Waits until the main thread has run the work that was queued.
    private func settle(_ isDone: () -> Bool) async { while !isDone() { await Task.yield() } }

    @Test("notifications become signals, in their order")
    func notificationsBecomeSignals() async throws {
        keep(AppSignals(to: pipeline, from: center))
        post(
            UIApplication.didBecomeActiveNotification, UIApplication.willResignActiveNotification,
            UIApplication.didEnterBackgroundNotification, UIApplication.willTerminateNotification)
        #expect(
            signals.all.withLock { $0 } == [
                .launched(.foreground), .didBecomeActive, .willResignActive, .didEnterBackground, .willTerminate,
            ])
    }

    /// The app is launched in this way.
    private func launch<Result>(
        _ role: task_role_t?, _ state: UIApplication.State = .background, isPrewarmed: Bool = false,
        _ body: () throws -> Result
    ) rethrows -> Result {
        standInRole = role
        UIApplication.shared.applicationState = state
        if isPrewarmed { setenv("ActivePrewarm", "1", 1) }
        defer {
            standInRole = TASK_FOREGROUND_APPLICATION
            UIApplication.shared.applicationState = .inactive
            unsetenv("ActivePrewarm")
        }
        return try body()
    }

    @Test(
        "the role of the process decides about the launch, immediately, also while an app with scenes is launching",
        arguments: [
            (TASK_FOREGROUND_APPLICATION, false, .background, [.launched(.foreground)]),
            (TASK_FOREGROUND_APPLICATION, false, .inactive, [.launched(.foreground)]),
            (TASK_FOREGROUND_APPLICATION, false, .active, [.launched(.foreground), .didBecomeActive]),
            (TASK_NONUI_APPLICATION, false, .background, [.launched(.passive)]),
            (TASK_DARWINBG_APPLICATION, false, .background, [.launched(.prewarmed)]),
            (TASK_FOREGROUND_APPLICATION, true, .background, [.launched(.prewarmed)]),
            (TASK_NONUI_APPLICATION, true, .background, [.launched(.prewarmed)]),
            (task_role_t(rawValue: 0), false, .background, [.launched(.foreground)]),
            (nil, false, .background, [.launched(.foreground)]),
        ] as [(task_role_t?, Bool, UIApplication.State, [Signal])])
    func roleDecidesAboutLaunch(role: task_role_t?, isPrewarmed: Bool, state: UIApplication.State, expected: [Signal]) {
        launch(role, state, isPrewarmed: isPrewarmed) {
            #expect(AppSignals.launch == expected.first?.launch)
            keep(AppSignals(to: pipeline, from: center))
            #expect(signals.all.withLock { $0 } == expected)
        }
    }

    @Test("a launch that the host has reported before counts")
    func hostKnowsBetter() {
        pipeline.signal(.launched(.passive))
        keep(AppSignals(to: pipeline, from: center))
        #expect(signals.all.withLock { $0 } == [.launched(.passive)])
    }

    /// A pipeline with all that a passive launch concerns.
    private func wholePipeline(_ store: RecordingStore) throws -> Pipeline {
        try store.pipeline(PassiveLaunchTagger(), LifecycleEvents())
    }

    private func story(_ store: RecordingStore) -> [String] {
        store.events.map { $0.name + ($0.properties["$app_state"] == "background" ? "[background]" : "") }
    }

    @Test("a push message launches the app, which tracks two events and is suspended and killed: all are marked")
    func pushIsMarked() throws {
        let store = RecordingStore()
        try launch(TASK_NONUI_APPLICATION) {
            let pipeline = try wholePipeline(store)
            keep(AppSignals(to: pipeline, from: center))
            pipeline.track("PushReceived")
            pipeline.track("DataFetched")
        }
        #expect(
            story(store) == ["$AppStartPassively[background]", "PushReceived[background]", "DataFetched[background]"])
    }

    @Test("a launch by the user whose main thread is busy for 6 s is no passive launch")
    func busyLaunchIsNotPassive() throws {
        let store = RecordingStore()
        try launch(TASK_FOREGROUND_APPLICATION) {
            let pipeline = try wholePipeline(store)
            keep(AppSignals(to: pipeline, from: center))
            pipeline.track("Early")
            time.advance(by: .seconds(6))
            post(UIScene.willEnterForegroundNotification, UIApplication.didBecomeActiveNotification)
        }
        #expect(story(store) == ["Early", "$AppStart"])
    }

    @Test("a prewarmed launch reports nothing of its own, and its events are marked until the app becomes active")
    func prewarmedLaunchReportsNothing() throws {
        let store = RecordingStore()
        try launch(TASK_DARWINBG_APPLICATION) {
            let pipeline = try wholePipeline(store)
            keep(AppSignals(to: pipeline, from: center))
            pipeline.track("Loaded")
            post(UIApplication.didBecomeActiveNotification)
        }
        #expect(story(store) == ["Loaded[background]", "$AppStart"])
    }

    @Test("a released adapter reports nothing, and keeps no pipeline alive")
    func releasedAdapterReportsNothing() async throws {
        weak var gone: Pipeline?
        let signals = Signals()
        do {
            let pipeline = try Pipeline {
                signals
                MemoryStore()
                transport
            }
            gone = pipeline
            let app = AppSignals(to: pipeline, from: center)
            await settle { signals.all.withLock { !$0.isEmpty } }
            withExtendedLifetime(app) {}
        }
        post(UIApplication.didBecomeActiveNotification)
        #expect(signals.all.withLock { $0.count } == 1)
        await settle { gone == nil }
    }

    @Test("background time is requested for sending, and returned when everything is sent")
    func backgroundTimeIsReturned() async throws {
        let before = UIApplication.shared.allBackgroundTasks
        keep(AppSignals(to: pipeline, from: center))
        post(UIApplication.didBecomeActiveNotification, UIApplication.didEnterBackgroundNotification)
        #expect(UIApplication.shared.allBackgroundTasks == before + 1)
        await settle { UIApplication.shared.backgroundTasks.isEmpty }
        #expect(try transport.accepted().map(\.name) == ["$AppStart", "$AppEnd"])
    }

    @Test("background time that expires is returned")
    func expiredTimeIsReturned() async throws {
        keep(AppSignals(to: pipeline, from: center))
        post(UIApplication.didBecomeActiveNotification, UIApplication.didEnterBackgroundNotification)
        let tasks = UIApplication.shared.backgroundTasks
        for case let handler? in tasks.values { handler() }
        #expect(UIApplication.shared.backgroundTasks.isEmpty)
    }

    /// A pipeline of its own, whose first request hangs.
    private func hangingPipeline() throws -> (Pipeline, ScriptedTransport) {
        let transport = ScriptedTransport([.hang])
        let pipeline = try Pipeline(
            delivery: DeliveryPolicy(batch: BatchSize(events: 1, bytes: .max), flushInterval: .seconds(3_600)),
            environment: PipelineEnvironment(time: time)
        ) {
            MemoryStore()
            transport
        }
        return (pipeline, transport)
    }

    /// A pipeline of its own, whose request hangs while the app is in the background.
    private func sendingInBackground(_ names: String...) async throws -> (Pipeline, ScriptedTransport) {
        let (pipeline, transport) = try hangingPipeline()
        keep(AppSignals(to: pipeline, from: center))
        for name in names { pipeline.track(name) }
        post(UIApplication.didEnterBackgroundNotification)
        await transport.waitForSends(1)
        return (pipeline, transport)
    }

    @Test("the request in flight is cancelled when the background time expires, and repeated when the app is active")
    func expiredTimeCancelsRequest() async throws {
        let (pipeline, transport) = try await sendingInBackground("A")
        for case let handler? in UIApplication.shared.backgroundTasks.values { handler() }
        await settle { UIApplication.shared.backgroundTasks.isEmpty }
        post(UIApplication.willEnterForegroundNotification, UIApplication.didBecomeActiveNotification)
        await pipeline.flush()
        #expect(try transport.accepted().map(\.name) == ["A"])
        // It says nothing about the receiver.
        #expect(pipeline.ledger.routes[0].attempts.failed == 0)
    }

    @Test("an unknown background time counts as 30 s, because it isn't known when the app leaves the foreground")
    func unknownTimeIsLittle() async throws {
        UIApplication.shared.applicationState = .background
        defer { UIApplication.shared.applicationState = .inactive }
        let (pipeline, transport) = try await sendingInBackground("A", "B")
        time.advance(by: .seconds(21))
        transport.release(.all(.accepted))
        await settle { UIApplication.shared.backgroundTasks.isEmpty }
        // The process may be suspended now, so that no batch is started in the next 10 s.
        await pipeline.flush()
        #expect(try transport.accepted().map(\.name) == ["A"])
        time.advance(by: .seconds(10))
        await pipeline.flush()
        #expect(try transport.accepted().map(\.name) == ["A", "B"])
    }

    @Test("the end of an earlier period in the background neither ends nor prolongs the time of the next one")
    func periodsHaveTimesOfTheirOwn() async throws {
        let (pipeline, transport) = try await sendingInBackground("A", "B")
        post(UIApplication.willEnterForegroundNotification, UIApplication.didBecomeActiveNotification)
        UIApplication.shared.applicationState = .background
        defer { UIApplication.shared.applicationState = .inactive }
        post(UIApplication.didEnterBackgroundNotification)
        // The first period has given its time back.
        #expect(UIApplication.shared.backgroundTasks.count == 1)
        time.advance(by: .seconds(21))
        transport.release(.all(.accepted))
        await settle { UIApplication.shared.backgroundTasks.isEmpty }
        await pipeline.flush()
        #expect(try transport.accepted().map(\.name) == ["A"])
    }

    @Test("the background time is given back when it is almost over, and the rest is sent later")
    func littleTimeStartsNoBatch() async throws {
        UIApplication.shared.backgroundTimeRemaining = 30
        defer { UIApplication.shared.backgroundTimeRemaining = .greatestFiniteMagnitude }
        let (pipeline, transport) = try await sendingInBackground("A", "B")
        time.advance(by: .seconds(21))
        transport.release(.all(.accepted))
        // The flush ends without another batch; BackgroundTests counts them.
        await settle { UIApplication.shared.backgroundTasks.isEmpty }
        post(UIApplication.willEnterForegroundNotification)
        await pipeline.flush()
        #expect(try transport.accepted().map(\.name) == ["A", "B"])
    }

    // MARK: Extensions

    @Test(
        "an extension reports its launch, and the states of the app around it",
        arguments: [
            (Signal.Launch.foreground, [Signal.launched(.foreground), .didBecomeActive]),
            (.passive, [.launched(.passive)]),
        ])
    func extensionFollowsItsHost(launch: Signal.Launch, first: [Signal]) async {
        keep(AppSignals(inExtension: pipeline, launch: launch, from: center))
        #expect(signals.all.withLock { $0 } == first)
        post(
            .NSExtensionHostWillResignActive, .NSExtensionHostDidEnterBackground, .NSExtensionHostWillEnterForeground,
            .NSExtensionHostDidBecomeActive, UIApplication.didBecomeActiveNotification)
        #expect(
            signals.all.withLock { Array($0.dropFirst(first.count)) } == [
                .willResignActive, .didEnterBackground, .didBecomeActive,
            ])
        await settle { ExpiringActivities.shared.count == 0 }
    }

    @Test(
        "an extension's activity lasts until everything is sent, or until the system wants the time back",
        arguments: [
            true, false,
        ])
    func activityEndsWithFlushOrExpiration(expires: Bool) async throws {
        let (pipeline, transport) = try hangingPipeline()
        keep(AppSignals(inExtension: pipeline, from: center))
        pipeline.track("A")
        post(.NSExtensionHostDidEnterBackground)
        await transport.waitForSends(1)
        #expect(ExpiringActivities.shared.count == 1)
        if expires { ExpiringActivities.shared.expire() } else { transport.release(.all(.accepted)) }
        await settle { ExpiringActivities.shared.count == 0 }
        #expect(pipeline.ledger.routes[0].attempts.failed == 0)
        #expect(try transport.accepted().count == (expires ? 0 : 1))
    }

    @Test("changes of the network become signals")
    func networkChangesBecomeSignals() async {
        keep(AppSignals(to: pipeline, from: center))
        for status in [NWPath.Status.satisfied, .unsatisfied, .requiresConnection] {
            NWPathMonitor.change(to: NWPath(status: status, type: .wifi))
        }
        await settle { signals.all.withLock { $0.count } == 4 }
        #expect(
            signals.all.withLock { $0 } == [
                .launched(.foreground), .connectivity(.available), .connectivity(.unavailable),
                .connectivity(.unavailable),
            ])
    }
}
