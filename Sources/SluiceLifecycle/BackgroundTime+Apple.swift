#if canImport(UIKit) || canImport(AppKit) || canImport(WatchKit)
    import Dispatch
    import Foundation
    import Sluice

    #if canImport(UIKit) && !os(watchOS)
        import UIKit
    #elseif canImport(WatchKit) && !os(iOS)
        import WatchKit
    #endif

    /// Time in the background, until it is returned or runs out.
    @MainActor
    protocol BackgroundTime {
        func begin()
        func end()
    }

    #if canImport(UIKit) && !os(watchOS)
        /// The time that the system gives to an app.
        @available(iOSApplicationExtension, unavailable)
        @available(tvOSApplicationExtension, unavailable)
        @available(visionOSApplicationExtension, unavailable)
        @MainActor
        final class BackgroundTask: BackgroundTime {
            private weak var pipeline: Pipeline?
            private var task = UIBackgroundTaskIdentifier.invalid

            init(_ pipeline: Pipeline) {
                self.pipeline = pipeline
            }

            func begin() {
                // The system kills an app that doesn't return its time when it runs out. The handler keeps this object
                // alive.
                task = UIApplication.shared.beginBackgroundTask(withName: "sluice") {
                    MainActor.assumeIsolated { self.expire() }
                }
                guard task != .invalid else { return }
                // While the app leaves the foreground, and under a debugger, the system returns the greatest number.
                // Assume 30 s, which the system has given since iOS 13. If the app isn't suspended, delivery continues
                // a few seconds later.
                let time = UIApplication.shared.backgroundTimeRemaining
                pipeline?.expectSuspension(in: .seconds(time < 86_400 ? max(0, time) : 30))
            }

            func end() {
                guard task != .invalid else { return }
                // The system may suspend the process now. If it doesn't, delivery continues a few seconds later.
                if UIApplication.shared.applicationState == .background { pipeline?.expectSuspension(in: .zero) }
                giveBack()
            }

            private func expire() {
                pipeline?.suspendDelivery()
                giveBack()
            }

            private func giveBack() {
                guard task != .invalid else { return }
                UIApplication.shared.endBackgroundTask(task)
                task = .invalid
            }
        }
    #else
        typealias BackgroundTask = ExpiringActivity
    #endif

    #if canImport(AppKit) && !canImport(UIKit)
        /// A Mac app needs no time in the background.
        struct ExpiringActivity: BackgroundTime {
            init(_ pipeline: Pipeline) {}
            func begin() {}
            func end() {}
        }
    #else
        /// The time that the system gives to extensions, and on a watch. How much there is remains unknown until it
        /// runs out.
        @MainActor
        final class ExpiringActivity: BackgroundTime {
            private weak var pipeline: Pipeline?
            private let isDone = DispatchSemaphore(value: 0)

            init(_ pipeline: Pipeline) {
                self.pipeline = pipeline
            }

            func begin() {
                let isDone = isDone
                ProcessInfo.processInfo.performExpiringActivity(withReason: "sluice") { [weak pipeline] isExpired in
                    if isExpired {
                        pipeline?.suspendDelivery()
                        isDone.signal()
                    } else {
                        // On a queue of the system. The activity lasts until this closure returns.
                        isDone.wait()
                    }
                }
            }

            func end() {
                isDone.signal()
            }
        }
    #endif
#endif
