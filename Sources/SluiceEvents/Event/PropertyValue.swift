/// The typed value of a ``Property``. You can write it as a Swift literal.
///
/// ```swift
/// let value: PropertyValue = ["sku": "A-7", "sizes": ["S", "M"], "coupon": nil]
/// ```
///
/// Values are sanitized when you add them to ``Properties`` or a ``PropertyArray``: see ``Sanitization``.
public enum PropertyValue: Sendable, Hashable {
    /// A string of up to ``maximumStringBytes``.
    case string(String)
    /// An integer.
    case int(Int64)
    /// A finite number.
    case double(Double)
    /// True or false.
    case bool(Bool)
    /// A date in milliseconds. It stays distinct from a string with the same characters.
    case date(Timestamp)
    /// An array.
    case array(PropertyArray)
    // Indirect, so that a value isn't larger than a string: objects are rare.
    /// An object.
    indirect case object(Properties)
    /// A JSON null.
    case null
}

extension PropertyValue {
    /// Creates a value from any integer. One that doesn't fit into 64 bits becomes the nearest double.
    @_disfavoredOverload
    @inlinable
    public static func int(_ value: some BinaryInteger) -> PropertyValue {
        Int64(exactly: value).map { .int($0) } ?? .double(Double(value))
    }

    // MARK: Accessors

    /// The string; nil for any other value.
    ///
    /// ```swift
    /// let sku = value.object?["sku"]?.string
    /// ```
    public var string: String? { if case .string(let string) = self { string } else { nil } }

    /// The integer; nil for any other value, and for one that doesn't fit into an `Int`.
    public var int: Int? { if case .int(let int) = self { Int(exactly: int) } else { nil } }

    /// The number, even if it is an integer; nil for any other value. Integers beyond 53 bits are rounded.
    public var double: Double? {
        switch self {
        case .double(let double): double
        case .int(let int): Double(int)
        default: nil
        }
    }

    /// The boolean; nil for any other value.
    public var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }

    /// The date; nil for any other value.
    public var date: Timestamp? { if case .date(let date) = self { date } else { nil } }

    /// The array; nil for any other value.
    public var array: PropertyArray? { if case .array(let array) = self { array } else { nil } }

    /// The object; nil for any other value.
    public var object: Properties? { if case .object(let object) = self { object } else { nil } }

    // MARK: Limits

    /// The maximum number of levels of arrays and objects. Deeper values become null.
    public static let maximumDepth = 32

    /// The longest string in bytes of UTF-8. Longer strings are truncated.
    public static let maximumStringBytes = 65_536

    /// The levels of arrays and objects, 0 for a scalar. After removals, an upper bound.
    var depth: Int {
        switch self {
        case .array(let array): Int(array.depth)
        case .object(let object): Int(object.bounds.depth)
        default: 0
        }
    }

    /// Returns this value as a container can hold it, and adds the changes to `sanitizations`.
    func sanitized(_ sanitizations: inout Sanitizations) -> PropertyValue {
        switch self {
        case .string(let string) where string.utf8.count > PropertyValue.maximumStringBytes:
            sanitizations.insert(.truncatedString)
            return .string(string.truncated(toBytes: PropertyValue.maximumStringBytes))
        case .double(let double) where !double.isFinite:
            sanitizations.insert(.nonFiniteNumber)
            return .null
        case .date(let date) where !Timestamp.writable.contains(date):
            sanitizations.insert(.unwritableDate)
            return .null
        case .array(let array):
            sanitizations.formUnion(array.sanitizations)
        case .object(let object):
            sanitizations.formUnion(object.bounds.sanitizations)
        default:
            return self
        }
        return truncated(toDepth: PropertyValue.maximumDepth - 1, &sanitizations)
    }

    /// Replaces values below `limit` by null. No container is deeper than ``maximumDepth``, which bounds the recursion.
    func truncated(toDepth limit: Int, _ sanitizations: inout Sanitizations) -> PropertyValue {
        guard depth > limit else { return self }
        guard limit > 0 else {
            sanitizations.insert(.truncatedDepth)
            return .null
        }
        switch self {
        case .array(let array): return .array(array.truncated(toDepth: limit, &sanitizations))
        case .object(let object): return .object(Properties(object.storage.truncated(toDepth: limit, &sanitizations)))
        default: return self
        }
    }
}

extension PropertyValue: ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    /// Creates a string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Creates an integer.
    public init(integerLiteral value: Int64) { self = .int(value) }
    /// Creates a number.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// Creates a boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Creates a null.
    public init(nilLiteral: ()) { self = .null }
    /// Creates an array.
    public init(arrayLiteral elements: PropertyValue...) { self = .array(PropertyArray(elements)) }
    /// Creates an object.
    public init(dictionaryLiteral elements: (String, PropertyValue)...) { self = .object(Properties(elements)) }
}

extension String {
    /// Returns the longest prefix of whole Unicode scalars that fits into `limit` bytes of UTF-8.
    package func truncated(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: limit)
        while end > startIndex, utf8[end] & 0b1100_0000 == 0b1000_0000 {
            end = utf8.index(before: end)
        }
        return String(self[..<end])
    }
}
