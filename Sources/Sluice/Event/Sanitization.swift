/// What had to be cut from an event so that it could be kept. The ledger counts, for each cause, the events it befell:
/// those that no processor has dropped, whether or not they were stored in the end.
///
/// Plugins add causes of their own, `extension Sanitization { static let cutTitle = Sanitization(rawValue: "cutTitle") }`, and
/// report them by ``Event/report(_:)``.
public struct Sanitization: RawRepresentable, Sendable, Hashable {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Arrays and objects below ``PropertyValue/maximumDepth`` became null.
    public static let truncatedDepth = Sanitization(rawValue: "truncatedDepth")
    /// A string lost what lay beyond ``PropertyValue/maximumStringBytes``, or a plugin's limit.
    public static let truncatedString = Sanitization(rawValue: "truncatedString")
    /// NaN or an infinity, which JSON cannot write, became null.
    public static let nonFiniteNumber = Sanitization(rawValue: "nonFiniteNumber")
    /// A date outside ``Timestamp/writable`` became null.
    public static let unwritableDate = Sanitization(rawValue: "unwritableDate")
    /// A property was left out: its name is longer than ``Event/maximumNameBytes``, or a plugin's limit forbids it.
    public static let droppedProperty = Sanitization(rawValue: "droppedProperty")
    /// The event's name lost what lay beyond ``Event/maximumNameBytes``, or a plugin's limit.
    public static let truncatedName = Sanitization(rawValue: "truncatedName")
    /// An id longer than ``Event/maximumNameBytes`` was removed: a cut one could be another user's.
    public static let droppedID = Sanitization(rawValue: "droppedID")
}

/// The core's own ``Sanitization``s in one byte, carried by the values which were repaired.
struct Sanitizations: OptionSet, Sendable {
    let rawValue: UInt8

    static let truncatedDepth = Sanitizations(rawValue: 1)
    static let truncatedString = Sanitizations(rawValue: 2)
    static let nonFiniteNumber = Sanitizations(rawValue: 4)
    static let unwritableDate = Sanitizations(rawValue: 8)
    static let droppedProperty = Sanitizations(rawValue: 16)
    static let truncatedName = Sanitizations(rawValue: 32)
    static let droppedID = Sanitizations(rawValue: 64)

    private static let table: [(Sanitizations, Sanitization)] = [
        (.truncatedDepth, .truncatedDepth), (.truncatedString, .truncatedString), (.nonFiniteNumber, .nonFiniteNumber),
        (.unwritableDate, .unwritableDate), (.droppedProperty, .droppedProperty), (.truncatedName, .truncatedName),
        (.droppedID, .droppedID),
    ]

    var causes: [Sanitization] {
        Sanitizations.table.filter { contains($0.0) }.map(\.1)
    }
}
