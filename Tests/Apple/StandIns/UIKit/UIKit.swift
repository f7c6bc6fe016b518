@_exported import Foundation

@MainActor open class UIApplication: NSObject {
    public enum State: Int, Sendable {
        case active, inactive, background
    }

    public static let shared = UIApplication()

    public nonisolated static let willResignActiveNotification = Notification.Name("UIApplicationWillResignActive")
    public nonisolated static let didBecomeActiveNotification = Notification.Name("UIApplicationDidBecomeActive")
    public nonisolated static let didEnterBackgroundNotification = Notification.Name("UIApplicationDidEnterBackground")
    public nonisolated static let willTerminateNotification = Notification.Name("UIApplicationWillTerminate")

    /// A test sets this.
    public var applicationState = State.inactive

    /// A test reads this: background tasks that have not ended.
    public private(set) var backgroundTasks: [Int: (@MainActor @Sendable () -> Void)?] = [:]
    public private(set) var allBackgroundTasks = 0

    public func beginBackgroundTask(
        withName name: String?, expirationHandler: (@MainActor @Sendable () -> Void)? = nil
    ) -> UIBackgroundTaskIdentifier {
        allBackgroundTasks += 1
        backgroundTasks[allBackgroundTasks] = expirationHandler
        return UIBackgroundTaskIdentifier(rawValue: allBackgroundTasks)
    }

    public func endBackgroundTask(_ identifier: UIBackgroundTaskIdentifier) {
        backgroundTasks[identifier.rawValue] = nil
    }
}

public struct UIBackgroundTaskIdentifier: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    public static let invalid = UIBackgroundTaskIdentifier(rawValue: 0)
}

@MainActor open class UIDevice: NSObject {
    public static let current = UIDevice()
    /// A test sets this.
    public var identifierForVendor: UUID?
}

@MainActor open class UIScreen: NSObject {
    public static let main = UIScreen()
    public var nativeBounds: CGRect { CGRect(x: 0, y: 0, width: 1_179, height: 2_556) }
}

@MainActor open class UIViewController: NSObject {
    public private(set) weak var parent: UIViewController?

    public func addChild(_ child: UIViewController) { child.parent = self }
}
