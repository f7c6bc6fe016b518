/// The events that one thread stores together, on their way to the stores.
// @unchecked: one thread uses it at a time, and the lock of the path hands it to the next one.
final class EventGroup: @unchecked Sendable {
    /// The lines for one route, one after the other.
    private struct Lines {
        /// Nil in a group that waits for its next thread.
        var route: RouteRuntime?
        var bytes: [UInt8] = []
        var ends: [(index: Int, priority: Event.Priority)] = []

        var all: [EventLine] {
            var start = 0
            return ends.map { end, priority in
                defer { start = end }
                return EventLine(bytes: bytes[start..<end], priority: priority, isEncoded: true)
            }
        }
    }

    /// Bounds the memory, and how much a crash can lose.
    private static let maximumBytes = 262_144

    // Unchecked, because one thread uses the group at a time, and the checks cost as much as the copy of a line.
    @exclusivity(unchecked) private var routes: [Lines] = []
    @exclusivity(unchecked) private var bytes = 0
    /// Above 0 while a plugin makes an event, which learns whether it is stored, or a signal is delivered.
    private var suspensions = 0

    /// Runs `body`. All events keep their order: the events that wait are stored before it, and its own are stored one
    /// by one.
    func suspend<Value>(_ body: () -> Value) -> Value {
        store()
        suspensions += 1
        defer { suspensions -= 1 }
        return body()
    }

    /// Takes a line.
    ///
    /// - Returns: false if the caller must store the line itself.
    func take(_ line: EventLine, for route: RouteRuntime) -> Bool {
        guard suspensions == 0 else { return false }
        let index = routes.firstIndex { $0.route === route } ?? add(route)
        // Copied, so that the next event can be encoded in the same buffer.
        routes[index].bytes.append(contentsOf: line.bytes)
        routes[index].ends.append((routes[index].bytes.count, line.priority))
        bytes += line.bytes.count
        if bytes >= EventGroup.maximumBytes { store() }
        return true
    }

    private func add(_ route: RouteRuntime) -> Int {
        let index = routes.firstIndex { $0.route == nil } ?? routes.endIndex
        if index == routes.endIndex { routes.append(Lines()) }
        routes[index].route = route
        return index
    }

    /// Stores the events. They are counted by their routes.
    func store() {
        // Moved away first: a store can call a closure of the host, which can track events.
        bytes = 0
        for index in routes.indices where !routes[index].ends.isEmpty {
            var full = Lines(route: routes[index].route)
            swap(&full, &routes[index])
            full.route?.append(contentsOf: full.all)
            // Keeps the buffer, because a new one of this size would take long.
            guard routes[index].ends.isEmpty else { continue }
            full.bytes.removeAll(keepingCapacity: true)
            full.ends.removeAll(keepingCapacity: true)
            routes[index] = full
        }
    }

    /// Stores the events. Then the group keeps its buffers for another thread, but not its routes, which would keep it alive.
    func finish() {
        store()
        for index in routes.indices { routes[index].route = nil }
    }
}
