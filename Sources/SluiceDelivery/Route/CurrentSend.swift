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

    /// The routes with a `send` that waits for another route, each with that one.
    private static let waits = Locked<[(route: RouteRuntime, other: RouteRuntime)]>([])

    /// Runs `body`, which waits for the batches in flight of `route` if it may. It may not if it would never end: the caller is
    /// the `send` of one of them, or of a route that one of them waits for. That is reported.
    static func wait<Value>(for route: RouteRuntime, _ body: (_ mayWait: Bool) async -> Value) async -> Value {
        guard let own = current?.route else { return await body(true) }
        let isCircle = waits.withLock { waits in
            // It ends, because no wait makes a circle.
            func leads(_ route: RouteRuntime) -> Bool {
                route === own || waits.contains { $0.route === route && leads($0.other) }
            }
            if leads(route) { return true }
            waits.append((own, route))
            return false
        }
        if isCircle {
            own.update { $0.journal.reportOwnWait() }
            return await body(false)
        }
        defer {
            waits.withLock { waits in
                if let index = waits.firstIndex(where: { $0.route === own && $0.other === route }) {
                    waits.remove(at: index)
                }
            }
        }
        return await body(true)
    }
}
