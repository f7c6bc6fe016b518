/// What had to be cut from an event so that it could be kept. The ledger counts, for each cause, the events it befell:
/// those that no processor has dropped, whether or not they were stored in the end.
///
/// Plugins add causes of their own, `extension Repair { static let cutTitle = Repair(rawValue: "cutTitle") }`, and
/// report them by ``Event/report(_:)``.
public struct Repair: RawRepresentable, Sendable, Hashable {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Arrays and objects below ``PropertyValue/maximumDepth`` became null.
    public static let cutDepth = Repair(rawValue: "cutDepth")
    /// A string lost what lay beyond ``PropertyValue/maximumStringBytes``, or a plugin's limit.
    public static let cutString = Repair(rawValue: "cutString")
    /// NaN or an infinity, which JSON cannot write, became null.
    public static let nonFiniteNumber = Repair(rawValue: "nonFiniteNumber")
    /// A date outside ``Timestamp/writable`` became null.
    public static let unwritableDate = Repair(rawValue: "unwritableDate")
    /// A property was left out: its name is longer than ``Event/maximumNameBytes``, or a plugin's limit forbids it.
    public static let droppedProperty = Repair(rawValue: "droppedProperty")
    /// The event's name lost what lay beyond ``Event/maximumNameBytes``, or a plugin's limit.
    public static let cutName = Repair(rawValue: "cutName")
    /// An id longer than ``Event/maximumNameBytes`` was removed: a cut one could be another user's.
    public static let droppedID = Repair(rawValue: "droppedID")
}

/// The core's own ``Repair``s in one byte, carried by the values which were repaired.
struct Repairs: OptionSet, Sendable {
    let rawValue: UInt8

    static let cutDepth = Repairs(rawValue: 1)
    static let cutString = Repairs(rawValue: 2)
    static let nonFiniteNumber = Repairs(rawValue: 4)
    static let unwritableDate = Repairs(rawValue: 8)
    static let droppedProperty = Repairs(rawValue: 16)
    static let cutName = Repairs(rawValue: 32)
    static let droppedID = Repairs(rawValue: 64)

    private static let table: [(Repairs, Repair)] = [
        (.cutDepth, .cutDepth), (.cutString, .cutString), (.nonFiniteNumber, .nonFiniteNumber),
        (.unwritableDate, .unwritableDate), (.droppedProperty, .droppedProperty), (.cutName, .cutName),
        (.droppedID, .droppedID),
    ]

    var causes: [Repair] {
        Repairs.table.filter { contains($0.0) }.map(\.1)
    }
}
