#if canImport(UIKit) || canImport(AppKit) || canImport(WatchKit)
    import Dispatch
    public import Foundation
    public import Sluice

    #if canImport(Network)
        import Network
    #endif

    /// Reports the app's launch, activity, background and termination to a pipeline, and whether there is a network.
    ///
    /// Create one on the main thread while the app is launching, as in `application(_:didFinishLaunchingWithOptions:)`,
    /// or later, and keep it while it must report. It doesn't keep the pipeline alive.
    ///
    /// ```swift
    /// signals = AppSignals(to: pipeline)    // in a property of the app's delegate
    /// ```
    ///
    /// When the app enters the background, it asks the system for time to send waiting events, and returns it when that
    /// is done. No batch is started when the time is almost over, and requests in flight are cancelled when it ends;
    /// their events are sent later. When the network changes, delivery retries immediately, and `AutoProperties` reads
    /// the new network.
    ///
    /// A Mac app doesn't enter the background: there `$AppEnd` comes with the termination, and waiting events are sent
    /// when the app is hidden or another one becomes active. The system doesn't terminate the app suddenly while this
    /// object exists, because its end would not be reported.
    ///
    /// An app on a watch isn't told of its termination: its end is in the background, or is recovered by the next
    /// launch.
    @MainActor
    public final class AppSignals {
        private let observations: [Observation]
        private let end: End
        #if canImport(Network)
            private let network: NetworkObservation
        #endif

        /// The way in which the app was launched, for a plugin that must know it before the first signal.
        ///
        /// On iOS and visionOS, the role that the system has given to the process tells whether the user launched the app,
        /// also while an app with scenes is launching. On tvOS and watchOS, the app's state does.
        ///
        /// ```swift
        /// let tagger = PassiveLaunchTagger(launch: AppSignals.launch)
        /// ```
        @available(iOSApplicationExtension, unavailable)
        @available(tvOSApplicationExtension, unavailable)
        @available(visionOSApplicationExtension, unavailable)
        public static var launch: Signal.Launch { Platform.launch }

        /// Reports the ``launch``, and that the app is active if it is.
        ///
        /// If you know better, call `pipeline.signal(.launched(.passive))` before: the first report counts.
        ///
        /// - Parameters:
        ///   - pipeline: The pipeline that gets the signals.
        ///   - center: The center where the app's notifications are posted.
        @available(iOSApplicationExtension, unavailable)
        @available(tvOSApplicationExtension, unavailable)
        @available(visionOSApplicationExtension, unavailable)
        public convenience init(to pipeline: Pipeline, from center: NotificationCenter = .default) {
            let periods = BackgroundPeriods()
            self.init(pipeline, center, Platform.notifications) { pipeline in
                periods.begin(pipeline, BackgroundTask(pipeline))
            }
            pipeline.signal(.launched(Self.launch))
            if Platform.isActive { pipeline.signal(.didBecomeActive) }
        }

        #if canImport(UIKit) || canImport(WatchKit)
            /// Reports the launch of an app extension, and then the states of the app that contains it.
            ///
            /// In the background it asks the system for time to send, as long as an extension can.
            ///
            /// ```swift
            /// signals = AppSignals(inExtension: pipeline, launch: .passive)    // in a notification service
            /// ```
            ///
            /// - Parameters:
            ///   - pipeline: The pipeline of the extension, with a store in a directory of its own.
            ///   - launch: The way in which the extension was started. Pass `.passive` for one without a user
            ///     interface, such as a notification service.
            ///   - center: The center where the host's notifications are posted.
            public convenience init(
                inExtension pipeline: Pipeline, launch: Signal.Launch = .foreground,
                from center: NotificationCenter = .default
            ) {
                let periods = BackgroundPeriods()
                self.init(pipeline, center, Platform.extensionNotifications) { pipeline in
                    periods.begin(pipeline, ExpiringActivity(pipeline))
                }
                pipeline.signal(.launched(launch))
                if launch == .foreground { pipeline.signal(.didBecomeActive) }
            }
        #endif

        private init(
            _ pipeline: Pipeline, _ center: NotificationCenter, _ notifications: [(Notification.Name, Platform.Change)],
            onBackground: @escaping @MainActor @Sendable (Pipeline) -> Void
        ) {
            observations = notifications.map { name, change in
                Observation(of: name, center) { [weak pipeline] in
                    guard let pipeline else { return }
                    switch change {
                    case .willEnterForeground: pipeline.expectSuspension(in: nil)
                    case .didBecomeActive:
                        pipeline.expectSuspension(in: nil)
                        pipeline.signal(.didBecomeActive)
                    case .willResignActive: pipeline.signal(.willResignActive)
                    case .didEnterBackground: MainActor.assumeIsolated { onBackground(pipeline) }
                    case .willTerminate: pipeline.signal(.willTerminate)
                    case .isOutOfSight: Task { await pipeline.flush() }
                    }
                }
            }
            end = End()
            #if canImport(Network)
                network = NetworkObservation(pipeline)
            #endif
        }
    }

    /// Requests time for each period in the background.
    @MainActor
    private final class BackgroundPeriods {
        private var time: (any BackgroundTime)?

        func begin(_ pipeline: Pipeline, _ time: some BackgroundTime) {
            // An earlier flush may still be running. When it ends, it must not end the new background time.
            self.time?.end()
            self.time = time
            time.begin()
            pipeline.signal(.didEnterBackground)
            Task {
                await pipeline.flush()
                time.end()
            }
        }
    }

    /// Keeps the system from ending a Mac app without notice, until it is released.
    private final class End: Sendable {
        #if canImport(AppKit) && !canImport(UIKit)
            init() { ProcessInfo.processInfo.disableSuddenTermination() }
            deinit { ProcessInfo.processInfo.enableSuddenTermination() }
        #endif
    }

    /// Ends with its last reference.
    // @unchecked: the token is only returned, and the notification center can be called from any thread.
    final class Observation: @unchecked Sendable {
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
