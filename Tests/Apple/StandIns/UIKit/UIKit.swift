@_exported import Foundation

@MainActor open class UIApplication: NSObject {
    public enum State: Int, Sendable {
        case active, inactive, background
    }

    public static let shared = UIApplication()

    public nonisolated static let willResignActiveNotification = Notification.Name("UIApplicationWillResignActive")
    public nonisolated static let didBecomeActiveNotification = Notification.Name("UIApplicationDidBecomeActive")
    public nonisolated static let didEnterBackgroundNotification = Notification.Name("UIApplicationDidEnterBackground")
    public nonisolated static let willEnterForegroundNotification = Notification.Name("UIApplicationWillForeground")
    public nonisolated static let willTerminateNotification = Notification.Name("UIApplicationWillTerminate")

    public nonisolated static let protectedDataDidBecomeAvailableNotification = Notification.Name(
        "UIApplicationProtectedDataDidBecomeAvailable")

    /// A test sets this: false while the device is locked.
    public var isProtectedDataAvailable = true

    /// A test sets this.
    public var applicationState = State.inactive

    /// A test sets this. The default is that of an app in the foreground.
    public var backgroundTimeRemaining = TimeInterval.greatestFiniteMagnitude

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

@MainActor open class UIScene: NSObject {
    public nonisolated static let willEnterForegroundNotification = Notification.Name("UISceneWillEnterForeground")
}

extension Notification.Name {
    public static let NSExtensionHostWillEnterForeground = Notification.Name("NSExtensionHostWillEnterForeground")
    public static let NSExtensionHostDidBecomeActive = Notification.Name("NSExtensionHostDidBecomeActive")
    public static let NSExtensionHostWillResignActive = Notification.Name("NSExtensionHostWillResignActive")
    public static let NSExtensionHostDidEnterBackground = Notification.Name("NSExtensionHostDidEnterBackground")
}

/// Activities that have not ended, for a test.
public final class ExpiringActivities: Sendable {
    public static let shared = ExpiringActivities()

    // nonisolated(unsafe): behind the lock.
    nonisolated(unsafe) private var blocks: [Int: @Sendable (Bool) -> Void] = [:]
    nonisolated(unsafe) private var lastID = 0
    private let lock = NSLock()

    public var count: Int { lock.withLock { blocks.count } }

    func begin(_ block: @escaping @Sendable (Bool) -> Void) {
        let id = lock.withLock {
            lastID += 1
            blocks[lastID] = block
            return lastID
        }
        DispatchQueue(label: "activity").async {
            block(false)
            self.lock.withLock { self.blocks[id] = nil }
        }
    }

    /// A test calls this: the system wants the time back.
    public func expire() {
        for block in lock.withLock({ Array(blocks.values) }) { block(true) }
    }
}

extension ProcessInfo {
    public func performExpiringActivity(withReason reason: String, using block: @escaping @Sendable (Bool) -> Void) {
        ExpiringActivities.shared.begin(block)
    }
}

// MARK: The kernel's functions, which Foundation exports on Apple's systems

public struct task_role_t: RawRepresentable, Hashable, Sendable {
    public var rawValue: Int32
    public init(rawValue: Int32) { self.rawValue = rawValue }
}

public struct task_category_policy_data_t {
    public var role = task_role_t(rawValue: 0)
    public init() {}
}

public typealias integer_t = Int32
public typealias boolean_t = Int32
public typealias mach_msg_type_number_t = UInt32
public typealias task_policy_flavor_t = UInt32

public let TASK_FOREGROUND_APPLICATION = task_role_t(rawValue: 1)
public let TASK_NONUI_APPLICATION = task_role_t(rawValue: 6)
public let TASK_DARWINBG_APPLICATION = task_role_t(rawValue: 8)
public let TASK_CATEGORY_POLICY: Int32 = 1
public let KERN_SUCCESS: Int32 = 0
public let mach_task_self_: UInt32 = 259

/// A test sets this: the role of the process; nil for a failing call.
// nonisolated(unsafe): the tests that use it run one after the other, on the main thread.
nonisolated(unsafe) public var standInRole: task_role_t? = TASK_FOREGROUND_APPLICATION

public func task_policy_get(
    _ task: UInt32, _ flavor: task_policy_flavor_t, _ info: UnsafeMutablePointer<integer_t>,
    _ count: UnsafeMutablePointer<mach_msg_type_number_t>, _ getDefault: UnsafeMutablePointer<boolean_t>
) -> Int32 {
    guard let role = standInRole, task == mach_task_self_, flavor == 1, count.pointee == 1, getDefault.pointee == 0
    else { return 4 }
    info.pointee = role.rawValue
    return KERN_SUCCESS
}
