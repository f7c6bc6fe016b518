/// A transport whose `send` does nothing else while it waits for another transport's.
package protocol TransportGate: Transport {
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

    /// A route whose `send` waits, and the route that it waits for. There are few.
    private static let waits = Locked<[(own: RouteRuntime, other: RouteRuntime)]>([])

    private static let ownWait =
        "the transport's send awaits a flush or a deletion of its own route, or of one that waits for it: the call has "
        + "returned without waiting. Make it elsewhere"

    /// Runs `body`, which waits for the batches in flight of `route` if it may. It may not if it would never end: the caller is
    /// the `send` of one of them, or of a route that one of them waits for. That is reported.
    static func wait<Value>(for route: RouteRuntime, _ body: (_ mayWait: Bool) async -> Value) async -> Value {
        guard let own = current?.route else { return await body(true) }
        let isCircle = waits.withLock { waits in
            var (reached, seen) = ([route], Set<ObjectIdentifier>())
            while let next = reached.popLast() {
                if next === own { return true }
                guard seen.insert(ObjectIdentifier(next)).inserted else { continue }
                for wait in waits where wait.own === next { reached.append(wait.other) }
            }
            waits.append((own, route))
            return false
        }
        if isCircle {
            own.update { $0.journal.reportRarely(.note, ownWait) }
            return await body(false)
        }
        defer {
            waits.withLock { waits in
                if let index = waits.firstIndex(where: { $0 === own && $1 === route }) { waits.remove(at: index) }
            }
        }
        return await body(true)
    }
}
