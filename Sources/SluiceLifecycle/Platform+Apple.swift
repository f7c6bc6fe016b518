#if canImport(UIKit) || canImport(AppKit) || canImport(WatchKit)
    import Foundation
    import Sluice

    // WatchKit is on iOS too, and UIKit has no application on a watch.
    #if canImport(UIKit) && !os(watchOS)
        import UIKit
    #elseif canImport(WatchKit) && !os(iOS)
        import WatchKit
    #elseif canImport(AppKit)
        import AppKit
    #endif

    /// The notifications and the state of the app on each platform.
    @MainActor
    enum Platform {
        enum Change: Sendable {
            case willEnterForeground, didBecomeActive, willResignActive, didEnterBackground, willTerminate
            /// A Mac app is hidden, or another one is active.
            case isOutOfSight
        }

        #if canImport(UIKit) && !os(watchOS)
            static let notifications: [(Notification.Name, Change)] = [
                (UIApplication.willEnterForegroundNotification, .willEnterForeground),
                // The scene is the first to know.
                (UIScene.willEnterForegroundNotification, .willEnterForeground),
                (UIApplication.didBecomeActiveNotification, .didBecomeActive),
                (UIApplication.willResignActiveNotification, .willResignActive),
                (UIApplication.didEnterBackgroundNotification, .didEnterBackground),
                (UIApplication.willTerminateNotification, .willTerminate),
            ]

            /// The way in which the app was launched.
            @available(iOSApplicationExtension, unavailable)
            @available(tvOSApplicationExtension, unavailable)
            @available(visionOSApplicationExtension, unavailable)
            static var launch: Signal.Launch {
                #if os(tvOS)
                    UIApplication.shared.applicationState == .background ? .passive : .foreground
                #else
                    ProcessRole.launch
                #endif
            }

            @available(iOSApplicationExtension, unavailable)
            @available(tvOSApplicationExtension, unavailable)
            @available(visionOSApplicationExtension, unavailable)
            static var isActive: Bool { UIApplication.shared.applicationState == .active }
        #elseif canImport(WatchKit) && !os(iOS)
            static let notifications: [(Notification.Name, Change)] = [
                (WKApplication.willEnterForegroundNotification, .willEnterForeground),
                (WKApplication.didBecomeActiveNotification, .didBecomeActive),
                (WKApplication.willResignActiveNotification, .willResignActive),
                (WKApplication.didEnterBackgroundNotification, .didEnterBackground),
            ]

            static var launch: Signal.Launch {
                WKApplication.shared().applicationState == .background ? .passive : .foreground
            }

            static var isActive: Bool { WKApplication.shared().applicationState == .active }
        #else
            static let notifications: [(Notification.Name, Change)] = [
                (NSApplication.didBecomeActiveNotification, .didBecomeActive),
                (NSApplication.willResignActiveNotification, .willResignActive),
                (NSApplication.didResignActiveNotification, .isOutOfSight),
                (NSApplication.didHideNotification, .isOutOfSight),
                (NSApplication.willTerminateNotification, .willTerminate),
            ]

            /// A Mac app can be active or not, and is always there for the user.
            static var launch: Signal.Launch { .foreground }

            static var isActive: Bool { NSApplication.shared.isActive }
        #endif

        #if !(canImport(AppKit) && !canImport(UIKit))
            static let extensionNotifications: [(Notification.Name, Change)] = [
                (.NSExtensionHostWillEnterForeground, .willEnterForeground),
                (.NSExtensionHostDidBecomeActive, .didBecomeActive),
                (.NSExtensionHostWillResignActive, .willResignActive),
                (.NSExtensionHostDidEnterBackground, .didEnterBackground),
            ]
        #endif
    }
#endif
