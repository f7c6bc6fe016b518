import Sluice

/// The events that a user of the page looks for. Empty texts match all events.
package struct EventQuery: Sendable {
    /// A part of a value, or of `name=value`.
    package var text = ""
    package var name = ""
    /// A part of one of the three ids.
    package var user = ""
    package var session = ""
    /// In milliseconds since 1970.
    package var times: ClosedRange<Int64> = .min ... .max

    package init() {}

    /// Makes texts comparable: case doesn't matter.
    package mutating func normalize() {
        (text, name) = (text.lowercased(), name.lowercased())
        (user, session) = (user.lowercased(), session.lowercased())
    }

    /// Whether an event matches. The query must be normalized, and the fields must have their lines if it has a text.
    package func matches(_ event: EventFields, in process: String) -> Bool {
        guard times.contains(event.time.milliseconds) else { return false }
        if !name.isEmpty, !event.name.lowercased().contains(name) { return false }
        if !user.isEmpty, !event.users.contains(where: { $0.lowercased().contains(user) }) { return false }
        if !session.isEmpty, event.session?.lowercased().contains(session) != true { return false }
        if text.isEmpty { return true }
        return (event.lines + [process]).contains { $0.lowercased().contains(text) }
    }
}
