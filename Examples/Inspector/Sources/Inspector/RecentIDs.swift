import Sluice

/// The ids of the newest events, bounded in number.
struct RecentIDs {
    private var newer: Set<EventID> = []
    private var older: Set<EventID> = []

    private static let most = 100_000

    func contains(_ id: EventID) -> Bool { newer.contains(id) || older.contains(id) }

    /// Returns whether the id is new.
    @discardableResult
    mutating func insert(_ id: EventID) -> Bool {
        if contains(id) { return false }
        newer.insert(id)
        if newer.count >= RecentIDs.most { (older, newer) = (newer, []) }
        return true
    }
}
