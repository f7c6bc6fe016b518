#if (canImport(UIKit) && !os(watchOS)) || (canImport(AppKit) && !targetEnvironment(macCatalyst))
    public import Foundation
    public import Sluice

    #if canImport(UIKit)
        import UIKit
        private typealias Application = UIApplication
    #else
        import AppKit
        private typealias Application = NSApplication
    #endif

    /// Reports to a pipeline what the app goes through: launch, activity, background and termination.
    ///
    /// Make one on the main thread while the app is launching, as in `application(_:didFinishLaunchingWithOptions:)`,
    /// and hold it for as long as it is to report. It does not keep the pipeline alive.
    ///
    /// On entering the background it asks the system for time to send what waits, and gives it back when that is done.
    /// A Mac app does not enter the background: there `$AppEnd` comes with the termination.
    @MainActor
    @available(iOSApplicationExtension, unavailable)
    @available(tvOSApplicationExtension, unavailable)
    @available(visionOSApplicationExtension, unavailable)
    public final class AppSignals {
        private let observations: [Observation]

        /// Reports the launch at once: a passive one if the app is in the background.
        ///
        /// While it is launching, an app with scenes says that it is in the background in any case. There the launch is
        /// reported with the first of these: the app's next notification, or when the main thread gets to it next. A host
        /// that knows better says so itself before that, by `pipeline.signal(.launched(.passive))`.
        ///
        /// - Parameters:
        ///   - pipeline: what is to be told.
        ///   - center: where the app's notifications are posted.
        public convenience init(to pipeline: Pipeline, from center: NotificationCenter = .default) {
            let manifest = Bundle.main.object(forInfoDictionaryKey: "UIApplicationSceneManifest")
            self.init(to: pipeline, from: center, hasScenes: manifest != nil)
        }

        /// - Parameter hasScenes: whether the state says nothing while the app is launching.
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
            if !hasScenes || AppSignals.launch == .foreground {
                report.make(AppSignals.launch)
            } else {
                Task { report.make(AppSignals.launch) }
            }
        }

        private static var launch: Signal.Launch {
            #if canImport(UIKit)
                Application.shared.applicationState == .background ? .passive : .foreground
            #else
                .foreground
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

    /// Tells how the app was launched, once, before anything else is told.
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
        /// Time that the system gives an app in the background, until it is given back or runs out.
        @MainActor
        private final class BackgroundTime {
            private var task = UIBackgroundTaskIdentifier.invalid

            init() {
                // Whoever does not give it back when it runs out is ended by the system.
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
    // @unchecked: the token is only given back, for which the notification centre may be called from any thread.
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
#endif
