/// The `send` of a transport in which the current task is.
enum CurrentSend {
    @TaskLocal static var route: RouteRuntime?

    /// Whether waiting for the batches in flight of `route` would never end: the caller is the `send` of one. It is reported.
    static func refusesToWait(for route: RouteRuntime) -> Bool {
        guard CurrentSend.route === route else { return false }
        route.update { $0.journal.reportOwnWait() }
        return true
    }
}
