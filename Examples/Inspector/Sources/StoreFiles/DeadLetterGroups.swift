package import Sluice

/// The dead letters of a folder by route, reason and the receiver's words.
package struct DeadLetterGroups: Sendable {
    package struct Key: Hashable, Sendable {
        package let route: String
        package let reason: String
        package let response: String?
    }

    package struct Group: Sendable {
        package let key: Key
        package fileprivate(set) var count = 0
        /// The time of the newest one; nil if all of them are encrypted.
        package fileprivate(set) var newest: Timestamp?
    }

    private var byKey: [Key: Group] = [:]

    /// Bounds the memory if a receiver puts variables into its words.
    private static let most = 1_000

    package init() {}

    /// Counts a dead letter; nil for an encrypted one.
    package mutating func add(_ letter: DeadLetterLine?, of route: String) {
        count(Key(route: route, reason: letter?.reason ?? "(encrypted)", response: letter?.response), letter?.date)
    }

    /// Counts a dead letter by another text than its reason.
    package mutating func add(count text: String, of route: String, _ date: Timestamp?) {
        count(Key(route: route, reason: text, response: nil), date)
    }

    private mutating func count(_ key: Key, _ date: Timestamp?) {
        let isKnown = byKey[key] != nil || byKey.count < DeadLetterGroups.most
        let key = isKnown ? key : Key(route: key.route, reason: "(others)", response: nil)
        var group = byKey[key] ?? Group(key: key)
        group.count += 1
        if let date { group.newest = max(group.newest ?? date, date) }
        byKey[key] = group
    }

    /// The group with the newest dead letter first.
    package var newestFirst: [Group] {
        byKey.values.sorted {
            ($1.newest?.milliseconds ?? .min, $0.key.reason) < ($0.newest?.milliseconds ?? .min, $1.key.reason)
        }
    }

    /// The largest group first.
    package var largestFirst: [Group] {
        byKey.values.sorted { ($1.count, $0.key.reason) < ($0.count, $1.key.reason) }
    }
}
