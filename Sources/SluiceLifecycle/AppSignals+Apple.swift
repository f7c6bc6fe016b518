#if (canImport(UIKit) && !os(watchOS)) || (canImport(AppKit) && !targetEnvironment(macCatalyst))
    import Dispatch
    public import Foundation
    public import Sluice

    #if canImport(Network)
        import Network
    #endif

    #if canImport(UIKit)
        import UIKit
        private typealias Application = UIApplication
    #else
        import AppKit
        private typealias Application = NSApplication
    #endif

    /// Reports the app's launch, activity, background and termination to a pipeline, and whether there is a network.
    ///
    /// Create one on the main thread while the app is launching, as in `application(_:didFinishLaunchingWithOptions:)`, or
    /// later, and keep it while it must report. It doesn't keep the pipeline alive.
    ///
    /// When the app enters the background, it asks the system for time to send waiting events, and returns it when that is
    /// done. A Mac app doesn't enter the background: there `$AppEnd` comes with the termination. When the network changes,
    /// delivery retries immediately, and `AutoProperties` reads the network again.
    @MainActor
    @available(iOSApplicationExtension, unavailable)
    @available(tvOSApplicationExtension, unavailable)
    @available(visionOSApplicationExtension, unavailable)
    public final class AppSignals {
        private let observations: [Observation]
        #if canImport(Network)
            private let network: NetworkObservation
        #endif

        /// Reports the launch, which is passive if the app is in the background, and that the app is active if it is.
        ///
        /// While an app with scenes is launching, the system always returns that it is in the background. Its launch is then
        /// reported with the app's next notification, or when the main thread is free. If you know better, call
        /// `pipeline.signal(.launched(.passive))` before.
        ///
        /// - Parameters:
        ///   - pipeline: The pipeline that gets the signals.
        ///   - center: The center where the app's notifications are posted.
        public convenience init(to pipeline: Pipeline, from center: NotificationCenter = .default) {
            let manifest = Bundle.main.object(forInfoDictionaryKey: "UIApplicationSceneManifest")
            self.init(to: pipeline, from: center, hasScenes: manifest != nil)
        }

        /// Reports the launch. With `hasScenes`, the state is unknown while the app is launching.
        package init(to pipeline: Pipeline, from center: NotificationCenter, hasScenes: Bool) {
            let report = LaunchReport(to: pipeline)
            let signals: [(Notification.Name, Signal)] = [
                (Application.willResignActiveNotification, .willResignActive),
                (Application.didBecomeActiveNotification, .didBecomeActive),
                (Application.willTerminateNotification, .willTerminate),
            ]
            var observations = signals.map { name, signal in
                Observation(of: name, center) { [weak pipeline] in
                    report.make(.foreground)
                    pipeline?.signal(signal)
                }
            }
            #if canImport(UIKit)
                observations.append(
                    Observation(of: Application.didEnterBackgroundNotification, center) { [weak pipeline] in
                        report.make(.foreground)
                        guard let pipeline else { return }
                        MainActor.assumeIsolated { AppSignals.enterBackground(pipeline) }
                    })
            #endif
            self.observations = observations
            #if canImport(Network)
                network = NetworkObservation(pipeline)
            #endif
            if !hasScenes || AppSignals.launch == .foreground {
                report.make(AppSignals.launch)
            } else {
                Task { report.make(AppSignals.launch) }
            }
            if AppSignals.isActive { pipeline.signal(.didBecomeActive) }
        }

        private static var launch: Signal.Launch {
            #if canImport(UIKit)
                Application.shared.applicationState == .background ? .passive : .foreground
            #else
                .foreground
            #endif
        }

        /// The notification has been posted before there was an observer.
        private static var isActive: Bool {
            #if canImport(UIKit)
                Application.shared.applicationState == .active
            #else
                Application.shared.isActive
            #endif
        }

        #if canImport(UIKit)
            private static func enterBackground(_ pipeline: Pipeline) {
                let time = BackgroundTime()
                pipeline.signal(.didEnterBackground)
                Task {
                    await pipeline.flush()
                    time.giveBack()
                }
            }
        #endif
    }

    /// Reports the launch once, before any other signal.
    private final class LaunchReport: Sendable {
        private struct Target {
            weak var pipeline: Pipeline?
        }

        private let target: Locked<Target>

        init(to pipeline: Pipeline) {
            target = Locked(Target(pipeline: pipeline))
        }

        /// Without effect after the first time.
        func make(_ launch: Signal.Launch) {
            let pipeline = target.withLock { target in
                defer { target.pipeline = nil }
                return target.pipeline
            }
            pipeline?.signal(.launched(launch))
        }
    }

    #if canImport(UIKit)
        /// Time in the background, until it is returned or runs out.
        @MainActor
        private final class BackgroundTime {
            private var task = UIBackgroundTaskIdentifier.invalid

            init() {
                // The system kills an app that doesn't return it when it runs out.
                task = Application.shared.beginBackgroundTask(withName: "sluice") { [weak self] in
                    MainActor.assumeIsolated { self?.giveBack() }
                }
            }

            func giveBack() {
                guard task != .invalid else { return }
                Application.shared.endBackgroundTask(task)
                task = .invalid
            }
        }
    #endif

    /// Ends with its last reference.
    // @unchecked: the token is only returned, and the notification center can be called from any thread.
    private final class Observation: @unchecked Sendable {
        private let token: any NSObjectProtocol
        private let center: NotificationCenter

        /// Calls `body` on the thread that posts: for the app's own notifications, the main thread.
        init(of name: Notification.Name, _ center: NotificationCenter, _ body: @escaping @Sendable () -> Void) {
            self.center = center
            token = center.addObserver(forName: name, object: nil, queue: nil) { _ in body() }
        }

        deinit {
            center.removeObserver(token)
        }
    }

    #if canImport(Network)
        /// Reports the network, first when it is made, and then with each change. Ends with its last reference.
        private final class NetworkObservation: Sendable {
            private let monitor = NWPathMonitor()

            init(_ pipeline: Pipeline) {
                monitor.pathUpdateHandler = { [weak pipeline] path in
                    let connectivity: Signal.Connectivity =
                        path.status != .satisfied ? .unavailable : path.isExpensive ? .metered : .available
                    // Signals of one pipeline must come one after the other; those of the app come on the main thread.
                    DispatchQueue.main.async { [weak pipeline] in pipeline?.signal(.connectivity(connectivity)) }
                }
                monitor.start(queue: DispatchQueue(label: "sluice.connectivity"))
            }

            deinit {
                monitor.cancel()
            }
        }
    #endif
#endif
