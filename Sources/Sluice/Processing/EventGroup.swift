/// The events that one thread stores together, on their way to the stores.
// @unchecked: only its thread uses it.
final class EventGroup: @unchecked Sendable {
    /// Bounds the memory, and how much a crash can lose.
    private static let maximumBytes = 262_144

    private let thread = currentThread
    private let processID = CurrentProcess.id
    private var routes: [(route: RouteRuntime, lines: [(line: EventLine, isNew: Bool)])] = []
    private var bytes = 0

    /// The child of a `fork` leaves the group to its parent.
    var isOfCurrentThread: Bool { thread == currentThread && processID == CurrentProcess.id }

    /// - Returns: whether the group is full, and must be stored.
    func add(_ line: EventLine, to route: RouteRuntime, isNew: Bool) -> Bool {
        let index = routes.firstIndex { $0.route === route } ?? routes.endIndex
        if index == routes.endIndex { routes.append((route, [])) }
        routes[index].lines.append((line, isNew))
        bytes += line.bytes.count
        return bytes >= EventGroup.maximumBytes
    }

    /// Stores the events. They are counted by their routes.
    func store() {
        guard processID == CurrentProcess.id else { return }
        // Moved away first: a store can call a closure of the host, which can track events.
        let full = routes
        routes = []
        bytes = 0
        for (route, lines) in full { route.append(contentsOf: lines) }
    }
}
