/// A change that made an event storable: a value was truncated or dropped.
///
/// The ledger counts the events with each sanitization. Events that a processor drops aren't counted.
///
/// You can add your own, and report it with ``Event/report(_:)``:
///
/// ```swift
/// extension Sanitization {
///     nonisolated static let truncatedTitle = Sanitization(rawValue: "truncatedTitle")
/// }
/// ```
public struct Sanitization: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The name in the ledger.
    public let rawValue: String

    /// Creates a sanitization of your own.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The name in the ledger.
    public var description: String { rawValue }

    /// Arrays and objects below ``PropertyValue/maximumDepth`` became null.
    public static let truncatedDepth = Sanitization(rawValue: "truncatedDepth")
    /// A string was truncated to ``PropertyValue/maximumStringBytes`` or a plugin's limit.
    public static let truncatedString = Sanitization(rawValue: "truncatedString")
    /// A NaN or infinity, which JSON can't represent, became null.
    public static let nonFiniteNumber = Sanitization(rawValue: "nonFiniteNumber")
    /// A date outside ``Timestamp/writable`` became null, or an event's time was clamped to that range.
    public static let unwritableDate = Sanitization(rawValue: "unwritableDate")
    /// A property was dropped because its name was given twice in a literal or a list, because its name is longer than
    /// ``Event/maximumNameBytes``, or because a plugin's limit forbids it.
    public static let droppedProperty = Sanitization(rawValue: "droppedProperty")
    /// The event's name was truncated to ``Event/maximumNameBytes`` or a plugin's limit.
    public static let truncatedName = Sanitization(rawValue: "truncatedName")
    /// A user id was dropped, because it is longer than 255 characters, contains NUL, is blank or stands for a missing id, such
    /// as `null`, or because a plugin can't use it. A truncated id could be another user's.
    public static let droppedID = Sanitization(rawValue: "droppedID")
    /// A part of a ``TrackedEvent`` could not be encoded. The property `$encoding_error` names it.
    public static let unencodable = Sanitization(rawValue: "unencodable")
}

/// A set of the core's own ``Sanitization``s in one byte, kept beside the values that they changed.
struct Sanitizations: OptionSet, Sendable {
    let rawValue: UInt8

    static let truncatedDepth = Sanitizations(rawValue: 1)
    static let truncatedString = Sanitizations(rawValue: 2)
    static let nonFiniteNumber = Sanitizations(rawValue: 4)
    static let unwritableDate = Sanitizations(rawValue: 8)
    static let droppedProperty = Sanitizations(rawValue: 16)
    static let truncatedName = Sanitizations(rawValue: 32)
    static let unencodable = Sanitizations(rawValue: 64)

    /// In the order of the bits.
    private static let all: [Sanitization] = [
        .truncatedDepth, .truncatedString, .nonFiniteNumber, .unwritableDate, .droppedProperty, .truncatedName,
        .unencodable,
    ]

    var causes: [Sanitization] {
        Sanitizations.all.enumerated().filter { rawValue & 1 << $0.offset != 0 }.map(\.element)
    }
}
