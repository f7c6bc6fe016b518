/// A transport whose `send` does nothing else while it waits for another transport's.
package protocol TransportGate<Base>: Transport {
    associatedtype Base: Transport
    var base: Base { get }
}

/// The `send` of a transport in which the current task is.
package enum CurrentSend {
    @TaskLocal static var route: RouteRuntime?

    /// The transport that a worker has called, if the worker has a thread of its own: the transport may block that thread.
    package static var transport: (any Transport)? {
        guard let route, route.environment.hasThreads else { return nil }
        var transport = route.transport
        while let gate = transport as? any TransportGate { transport = gate.base }
        return transport
    }

    /// Whether waiting for the batches in flight of `route` would never end: the caller is the `send` of one. It is reported.
    static func refusesToWait(for route: RouteRuntime) -> Bool {
        guard CurrentSend.route === route else { return false }
        route.update { $0.journal.reportOwnWait() }
        return true
    }
}
