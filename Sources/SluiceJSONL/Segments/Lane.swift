internal import Sluice

/// The kinds of files in a store: dead letters, and the waiting events of each priority. Earlier lanes are evicted first.
enum Lane: Int, CaseIterable, Comparable {
    case rejected, normal, critical

    init(_ priority: Event.Priority) {
        switch priority {
        case .normal: self = .normal
        case .critical: self = .critical
        }
    }

    /// The first part of its files' names.
    var word: String {
        switch self {
        case .rejected: "rejected"
        case .normal: "normal"
        case .critical: "critical"
        }
    }

    /// Whether its lines are waiting events.
    var holdsEvents: Bool { self != .rejected }

    /// The priority of its events.
    var priority: Event.Priority { self == .critical ? .critical : .normal }

    static func < (left: Lane, right: Lane) -> Bool { left.rawValue < right.rawValue }
}
