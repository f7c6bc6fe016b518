/// What had to be cut from an event so that it could be kept. The ledger counts, for each cause, the events it befell.
public enum Repair: UInt8, Sendable, Hashable, CaseIterable {
    /// Arrays and objects below ``PropertyValue/maximumDepth`` became null.
    case cutDepth
    /// A string lost what lay beyond ``PropertyValue/maximumStringBytes``.
    case cutString
    /// NaN or an infinity, which JSON cannot write, became null.
    case nonFiniteNumber
    /// A date outside ``Timestamp/writable`` became null.
    case unwritableDate
    /// A property was left out because its name is longer than ``Event/maximumNameBytes``.
    case droppedProperty
    /// The event's name lost what lay beyond ``Event/maximumNameBytes``.
    case cutName
    /// An id longer than ``Event/maximumNameBytes`` was removed: a cut one could be another user's.
    case droppedID
}

/// A set of ``Repair``s in one byte, carried by the values which were repaired.
struct Repairs: OptionSet, Sendable {
    let rawValue: UInt8

    static let cutDepth = Repairs(.cutDepth)
    static let cutString = Repairs(.cutString)
    static let nonFiniteNumber = Repairs(.nonFiniteNumber)
    static let unwritableDate = Repairs(.unwritableDate)
    static let droppedProperty = Repairs(.droppedProperty)
    static let cutName = Repairs(.cutName)
    static let droppedID = Repairs(.droppedID)

    init(rawValue: UInt8) { self.rawValue = rawValue }
    private init(_ repair: Repair) { rawValue = 1 << repair.rawValue }

    var causes: [Repair] {
        Repair.allCases.filter { contains(Repairs($0)) }
    }
}
