#if (canImport(UIKit) && !os(watchOS)) || (canImport(AppKit) && !targetEnvironment(macCatalyst))
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
    /// A Mac app does not enter the background: there `$AppEnd` comes with the termination.
    @MainActor
    @available(iOSApplicationExtension, unavailable)
    @available(tvOSApplicationExtension, unavailable)
    @available(visionOSApplicationExtension, unavailable)
    public final class AppSignals {
        private let observations: [Observation]

        /// Reports the launch when the main thread gets to it next: a passive one if the app is in the background then.
        public init(to pipeline: Pipeline) {
            var signals: [(Notification.Name, Signal)] = [
                (Application.willResignActiveNotification, .willResignActive),
                (Application.didBecomeActiveNotification, .didBecomeActive),
                (Application.willTerminateNotification, .willTerminate),
            ]
            #if canImport(UIKit)
                signals.append((Application.didEnterBackgroundNotification, .didEnterBackground))
            #endif
            observations = signals.map { name, signal in
                Observation(of: name) { [weak pipeline] in pipeline?.signal(signal) }
            }
            // Not at once: while it is launching, an app with scenes says that it is in the background in any case.
            Task { [weak pipeline] in pipeline?.signal(.launched(AppSignals.launch)) }
        }

        private static var launch: Signal.Launch {
            #if canImport(UIKit)
                Application.shared.applicationState == .background ? .passive : .foreground
            #else
                .foreground
            #endif
        }
    }

    /// Ends with its last reference.
    // @unchecked: the token is only given back, for which the notification centre may be called from any thread.
    private final class Observation: @unchecked Sendable {
        private let token: any NSObjectProtocol

        /// Calls `body` on the thread that posts: for the app's own notifications, the main thread.
        init(of name: Notification.Name, _ body: @escaping @Sendable () -> Void) {
            token = NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { _ in body() }
        }

        deinit {
            NotificationCenter.default.removeObserver(token)
        }
    }
#endif
