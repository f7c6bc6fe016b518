public import Dispatch
import Foundation

public enum NWInterface {
    public enum InterfaceType: Sendable, Hashable {
        case other, wifi, cellular, wiredEthernet, loopback
    }
}

public struct NWPath: Sendable {
    public enum Status: Sendable, Hashable {
        case satisfied, unsatisfied, requiresConnection
    }

    public let status: Status
    let type: NWInterface.InterfaceType?

    public init(status: Status, type: NWInterface.InterfaceType? = nil) {
        self.status = status
        self.type = type
    }

    public var isExpensive: Bool { type == .cellular }

    public func usesInterfaceType(_ type: NWInterface.InterfaceType) -> Bool { type == self.type }
}

// @unchecked: everything is behind the lock.
public final class NWPathMonitor: @unchecked Sendable {
    private struct State {
        var path = NWPath(status: .unsatisfied)
        var monitors: [ObjectIdentifier: (DispatchQueue, @Sendable (NWPath) -> Void)] = [:]
    }

    private static let lock = NSLock()
    nonisolated(unsafe) private static var state = State()
    nonisolated(unsafe) private var handler: (@Sendable (NWPath) -> Void)?

    public init() {}

    public var pathUpdateHandler: (@Sendable (NWPath) -> Void)? {
        get { NWPathMonitor.lock.withLock { handler } }
        set { NWPathMonitor.lock.withLock { handler = newValue } }
    }

    public var currentPath: NWPath { NWPathMonitor.lock.withLock { NWPathMonitor.state.path } }

    public func start(queue: DispatchQueue) {
        let id = ObjectIdentifier(self)
        NWPathMonitor.lock.withLock {
            guard let handler else { return }
            NWPathMonitor.state.monitors[id] = (queue, handler)
        }
    }

    public func cancel() {
        let id = ObjectIdentifier(self)
        NWPathMonitor.lock.withLock { NWPathMonitor.state.monitors[id] = nil }
    }

    /// A test calls this to change the network.
    public static func change(to path: NWPath) {
        let monitors = lock.withLock {
            state.path = path
            return state.monitors.values
        }
        for (queue, handler) in monitors { queue.async { handler(path) } }
    }
}
