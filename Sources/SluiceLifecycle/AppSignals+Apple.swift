#if (canImport(UIKit) && !os(watchOS)) || (canImport(AppKit) && !targetEnvironment(macCatalyst))
    public import Sluice

    #if canImport(UIKit)
        public import UIKit
        private typealias Application = UIApplication
    #else
        public import AppKit
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
    public final class AppSignals: NSObject {
        private weak var pipeline: Pipeline?
        private let signals: [Notification.Name: Signal]

        /// Reports the launch at once: a passive one if the app is in the background.
        public init(to pipeline: Pipeline) {
            self.pipeline = pipeline
            var signals: [Notification.Name: Signal] = [
                Application.willResignActiveNotification: .willResignActive,
                Application.didBecomeActiveNotification: .didBecomeActive,
                Application.willTerminateNotification: .willTerminate,
            ]
            #if canImport(UIKit)
                signals[Application.didEnterBackgroundNotification] = .didEnterBackground
                let isPassive = Application.shared.applicationState == .background
            #else
                let isPassive = false
            #endif
            self.signals = signals
            super.init()
            // By selector: such an observer needs no removal.
            for name in signals.keys {
                NotificationCenter.default.addObserver(self, selector: #selector(report(_:)), name: name, object: nil)
            }
            pipeline.signal(.launched(isPassive ? .passive : .foreground))
        }

        @objc private func report(_ notification: Notification) {
            guard let signal = signals[notification.name] else { return }
            pipeline?.signal(signal)
        }
    }
#endif
