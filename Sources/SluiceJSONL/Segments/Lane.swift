internal import Sluice

/// The kinds of files in a store: dead letters, and the waiting events of each priority. Earlier lanes are evicted first.
enum Lane: Int, CaseIterable, Comparable {
    case rejected, normal, critical

    init(_ priority: Event.Priority) {
        self = priority == .critical ? .critical : .normal
    }

    /// The first part of its files' names.
    var word: String { self == .rejected ? "rejected" : self == .normal ? "normal" : "critical" }

    /// Whether its lines are waiting events.
    var holdsEvents: Bool { self != .rejected }

    /// The priority of its events.
    var priority: Event.Priority { self == .critical ? .critical : .normal }

    static func < (left: Lane, right: Lane) -> Bool { left.rawValue < right.rawValue }
}
