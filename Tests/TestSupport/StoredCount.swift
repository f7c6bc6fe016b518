package import Sluice

/// A number that a plugin keeps. A stored number is added to it.
package struct StoredCount: PersistedValue {
    package var number = 0

    package init(_ number: Int = 0) { self.number = number }

    package init?(_ object: Properties) {
        guard let number = object["number"]?.int else { return nil }
        self.number = number
    }

    package var object: Properties { ["number": .int(number)] }

    package mutating func merge(stored: StoredCount) { number += stored.number }
}
