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
import SluiceTesting
import Testing
import UIKit

@testable import SluiceAutoProperties

/// The adapters for Apple's platforms, driven through the real notification centre and stand-ins for the rest.
@Suite(.serialized, .timeLimit(.minutes(10))) @MainActor struct AppleTests {
    /// Records the pipeline's signals.
    private final class Signals: Processor {
        let all = Locked<[Signal]>([])
        func process(_ event: inout Event) -> Disposition { .keep }
        func update(for signal: Signal) { all.withLock { $0.append(signal) } }
    }

    private let signals = Signals()
    private let transport = ScriptedTransport()
    private let center = NotificationCenter()
    private let pipeline: Pipeline

    init() throws {
        let (signals, transport) = (signals, transport)
        pipeline = try Pipeline {
            signals
            LifecycleEvents()
            MemoryStore()
            transport
        }
    }

    private func post(_ names: Notification.Name...) {
        for name in names { center.post(name: name, object: nil) }
    }

    /// Waits until the main thread has run the work that was queued.
    private func settle(_ isDone: () -> Bool) async {
        while !isDone() { await Task.yield() }
    }

    @Test("notifications become signals, in their order")
    func notificationsBecomeSignals() async throws {
        let app = AppSignals(to: pipeline, from: center)
        post(
            UIApplication.didBecomeActiveNotification, UIApplication.willResignActiveNotification,
            UIApplication.didEnterBackgroundNotification, UIApplication.willTerminateNotification)
        #expect(
            signals.all.withLock { $0 } == [
                .launched(.foreground), .didBecomeActive, .willResignActive, .didEnterBackground, .willTerminate,
            ])
        withExtendedLifetime(app) {}
    }

    @Test(
        "a launch into the background is passive, and an app that is active already is reported as such",
        arguments: [
            (UIApplication.State.active, [Signal.launched(.foreground), .didBecomeActive]),
            (.inactive, [.launched(.foreground)]), (.background, [.launched(.passive)]),
        ])
    func stateIsReportedImmediately(state: UIApplication.State, expected: [Signal]) {
        UIApplication.shared.applicationState = state
        let app = AppSignals(to: pipeline, from: center)
        #expect(signals.all.withLock { $0 } == expected)
        UIApplication.shared.applicationState = .inactive
        withExtendedLifetime(app) {}
    }

    @Test(
        "the state of an app with scenes is read after the launch, if it is the background at first",
        arguments: [
            (UIApplication.State.inactive, UIApplication.State.inactive, Signal.Launch.foreground),
            (.background, .inactive, .foreground), (.background, .active, .foreground),
            (.background, .background, .passive),
        ])
    func sceneStateIsReadAfterLaunch(first: UIApplication.State, then: UIApplication.State, launch: Signal.Launch) async
    {
        UIApplication.shared.applicationState = first
        let app = AppSignals(to: pipeline, from: center, hasScenes: true)
        #expect(signals.all.withLock { $0.isEmpty } == (first == .background))
        UIApplication.shared.applicationState = then
        await settle { signals.all.withLock { !$0.isEmpty } }
        #expect(signals.all.withLock { $0 } == [.launched(launch)])
        UIApplication.shared.applicationState = .inactive
        withExtendedLifetime(app) {}
    }

    @Test("the launch of an app with scenes is reported once, before its first notification")
    func launchIsReportedBeforeNotification() async {
        UIApplication.shared.applicationState = .background
        let app = AppSignals(to: pipeline, from: center, hasScenes: true)
        post(UIApplication.didBecomeActiveNotification)
        UIApplication.shared.applicationState = .inactive
        for _ in 0..<100 { await Task.yield() }
        #expect(signals.all.withLock { $0 } == [.launched(.foreground), .didBecomeActive])
        withExtendedLifetime(app) {}
    }

    @Test("a released adapter reports nothing, and keeps no pipeline alive")
    func releasedAdapterReportsNothing() async throws {
        weak var gone: Pipeline?
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
        let app = AppSignals(to: pipeline, from: center)
        post(UIApplication.didBecomeActiveNotification, UIApplication.didEnterBackgroundNotification)
        #expect(UIApplication.shared.allBackgroundTasks == before + 1)
        await settle { UIApplication.shared.backgroundTasks.isEmpty }
        #expect(try transport.accepted().map(\.name) == ["$AppStart", "$AppEnd"])
        withExtendedLifetime(app) {}
    }

    @Test("background time that expires is returned")
    func expiredTimeIsReturned() async throws {
        let app = AppSignals(to: pipeline, from: center)
        post(UIApplication.didBecomeActiveNotification, UIApplication.didEnterBackgroundNotification)
        let tasks = UIApplication.shared.backgroundTasks
        for case let handler? in tasks.values { handler() }
        #expect(UIApplication.shared.backgroundTasks.isEmpty)
        withExtendedLifetime(app) {}
    }

    @Test("changes of the network become signals")
    func networkChangesBecomeSignals() async {
        let app = AppSignals(to: pipeline, from: center)
        for status in [NWPath.Status.satisfied, .unsatisfied, .requiresConnection] {
            NWPathMonitor.change(to: NWPath(status: status, type: .wifi))
        }
        await settle { signals.all.withLock { $0.count } == 4 }
        #expect(
            signals.all.withLock { $0 } == [
                .launched(.foreground), .connectivity(.available), .connectivity(.unavailable),
                .connectivity(.unavailable),
            ])
        withExtendedLifetime(app) {}
    }

    // MARK: Properties

    @Test("the network's type is that of the path")
    func networkTypeIsThatOfPath() throws {
        let types: [(NWInterface.InterfaceType, String?)] = [
            (.wifi, "wifi"), (.cellular, "cellular"), (.wiredEthernet, "ethernet"), (.other, nil),
        ]
        for (type, name) in types {
            NWPathMonitor.change(to: NWPath(status: .satisfied, type: type))
            #expect(SystemReader.current.networkType() == name)
        }
        NWPathMonitor.change(to: NWPath(status: .unsatisfied, type: .wifi))
        #expect(SystemReader.current.networkType() == nil)
    }

    @Test("maker and locale come from the frameworks")
    func manufacturerAndLocaleComeFromFrameworks() {
        let properties = SystemReader.current.platform
        #expect(properties["$manufacturer"] == "Apple")
        #expect(properties["$locale"] == .string(Locale.current.identifier))
    }

    @Test(
        "the carrier is the one of the data service, and a placeholder of the system is ignored",
        arguments: [
            (["1": ("A1", "232")], nil, "A1"), (["1": ("A1", "232"), "2": ("Drei", "232")], "2", "Drei"),
            (["2": ("Drei", "232"), "1": ("A1", "232")], "3", "A1"), (["1": ("--", "65535")], "1", nil),
            (["1": ("--", nil)], nil, nil), (["1": ("A1", "65535")], nil, nil), (["1": (" ", "232")], nil, nil),
            (["1": (nil, nil)], nil, nil), ([:], "1", nil), (nil, nil, nil),
        ] as [([String: (String?, String?)]?, String?, String?)])
    func carrierIsThatOfDataService(providers: [String: (String?, String?)]?, dataService: String?, name: String?)
        throws
    {
        CTTelephonyNetworkInfo.providers = providers?.mapValues { CTCarrier(name: $0, mobileCountryCode: $1) }
        CTTelephonyNetworkInfo.dataService = dataService
        defer { CTTelephonyNetworkInfo.providers = nil }
        let auto = AutoProperties()
        func carrier() -> PropertyValue? {
            var event = Event(id: EventID(high: 0, low: 0), name: "E", time: Timestamp(milliseconds: 0))
            #expect(auto.process(&event) == .keep)
            return event.properties["$carrier"]
        }
        #expect(carrier() == name.map { .string($0) })
        auto.register(["$carrier": "the host's"])
        #expect(carrier() == "the host's")
    }

    // MARK: Identity

    @Test("the anonymous id is the advertising id if tracking is authorized, otherwise the vendor's, otherwise a UUID")
    func anonymousIDSourcesInOrder() {
        let advertising = UUID()
        let vendor = UUID()
        func id() -> String? {
            Identity(persistedIn: .memory, anonymousIDFrom: [.advertising, .vendor]).anonymousID
        }
        ASIdentifierManager.identifier = advertising
        UIDevice.current.identifierForVendor = vendor
        for status in [ATTrackingManager.AuthorizationStatus.notDetermined, .restricted, .denied] {
            ATTrackingManager.trackingAuthorizationStatus = status
            #expect(id() == vendor.uuidString)
        }
        ATTrackingManager.trackingAuthorizationStatus = .authorized
        #expect(id() == advertising.uuidString)
        ASIdentifierManager.identifier = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        #expect(id() == vendor.uuidString)
        UIDevice.current.identifierForVendor = nil
        #expect(id()?.count == 36)
        ATTrackingManager.trackingAuthorizationStatus = .notDetermined
    }
}
