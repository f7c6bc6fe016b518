/// The `send` of a transport in which the current task is.
package enum CurrentSend {
    @TaskLocal static var route: RouteRuntime?

    /// The transport that a worker has called, if the worker has a thread of its own: the transport may block that thread.
    package static var transport: (any Transport)? {
        route.flatMap { $0.environment.hasThreads ? $0.transport : nil }
    }

    /// Whether waiting for the batches in flight of `route` would never end: the caller is the `send` of one. It is reported.
    static func refusesToWait(for route: RouteRuntime) -> Bool {
        guard CurrentSend.route === route else { return false }
        route.update { $0.journal.reportOwnWait() }
        return true
    }
}
