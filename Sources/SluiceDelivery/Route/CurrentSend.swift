/// A transport whose `send` does nothing else while it waits for another transport's.
package protocol TransportGate<Base>: Transport {
    associatedtype Base: Transport
    var base: Base { get }
}

/// The call of a transport's `send` that the current task is in.
package struct CurrentSend: Sendable {
    @TaskLocal static var current: CurrentSend?

    private let route: RouteRuntime
    /// Found once for each worker, because the casts take thousands of instructions.
    private let transport: (any Transport & AnyObject)?

    init(_ route: RouteRuntime) {
        var transport = route.transport
        while let gate = transport as? any TransportGate { transport = gate.base }
        self.route = route
        self.transport = route.environment.hasThreads ? transport as? any Transport & AnyObject : nil
    }

    /// The transport behind all gates of the route, if it is an object and the worker has a thread of its own: this transport
    /// may block that thread. Nil for structs.
    package static var transport: (any Transport & AnyObject)? { current?.transport }

    /// Whether waiting for the batches in flight of `route` would never end: the caller is the `send` of one. It is reported.
    static func refusesToWait(for route: RouteRuntime) -> Bool {
        guard current?.route === route else { return false }
        route.update { $0.journal.reportOwnWait() }
        return true
    }
}
