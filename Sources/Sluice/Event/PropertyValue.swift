/// The typed value of a ``Property``; Swift's literals work wherever one is expected.
///
/// A value by itself may be anything. As soon as it enters a ``Properties`` or a ``PropertyArray`` it is made
/// keepable: see ``Sanitization`` for what is cut then, and how it is counted.
public enum PropertyValue: Sendable {
    case string(String)
    case int(Int64)
    case double(Double)
    case bool(Bool)
    /// A moment, kept to the millisecond and told apart from a string that looks like one.
    case date(Timestamp)
    case array(PropertyArray)
    // Indirect, so that a value is no larger than a string: there are few objects, and many values.
    indirect case object(Properties)
    case null
}

extension PropertyValue {
    /// An integer of any width. One that a signed 64-bit integer cannot hold becomes the nearest double.
    @_disfavoredOverload
    @inlinable
    public static func int(_ value: some BinaryInteger) -> PropertyValue {
        Int64(exactly: value).map { .int($0) } ?? .double(Double(value))
    }

    /// How many levels of arrays and objects a value may have: deeper ones are cut, from the outside in.
    public static let maximumDepth = 32

    /// The longest string that is kept whole, in bytes of UTF-8.
    public static let maximumStringBytes = 65_536

    /// Levels of arrays and objects; 0 for a scalar. An upper bound after removals.
    var depth: Int {
        switch self {
        case .array(let array): Int(array.depth)
        case .object(let object): Int(object.bounds.depth)
        default: 0
        }
    }

    /// This value as it may stand inside a container; adds to `sanitizations` what had to be cut for it.
    func sanitized(_ sanitizations: inout Sanitizations) -> PropertyValue {
        switch self {
        case .string(let string) where string.utf8.count > PropertyValue.maximumStringBytes:
            sanitizations.insert(.truncatedString)
            return .string(string.cut(toBytes: PropertyValue.maximumStringBytes))
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
        guard depth >= PropertyValue.maximumDepth else { return self }
        var wasCut = false
        let result = cut(toDepth: PropertyValue.maximumDepth - 1, &wasCut)
        if wasCut { sanitizations.insert(.truncatedDepth) }
        return result
    }

    /// Recursion is bounded here: no container is ever deeper than ``maximumDepth``.
    func cut(toDepth limit: Int, _ wasCut: inout Bool) -> PropertyValue {
        guard depth > limit else { return self }
        guard limit > 0 else {
            wasCut = true
            return .null
        }
        switch self {
        case .array(let array): return .array(array.cut(toDepth: limit, &wasCut))
        case .object(let object): return .object(object.cut(toDepth: limit, &wasCut))
        default: return self
        }
    }
}

extension PropertyValue: Equatable {
    public static func == (left: PropertyValue, right: PropertyValue) -> Bool {
        switch (left, right) {
        case (.string(let left), .string(let right)): left == right
        case (.int(let left), .int(let right)): left == right
        case (.double(let left), .double(let right)): left == right
        case (.bool(let left), .bool(let right)): left == right
        case (.date(let left), .date(let right)): left == right
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        case (.null, .null): true
        default: false
        }
    }
}

extension PropertyValue: ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .int(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(nilLiteral: ()) { self = .null }
    public init(arrayLiteral elements: PropertyValue...) { self = .array(PropertyArray(elements)) }
    public init(dictionaryLiteral elements: (String, PropertyValue)...) { self = .object(Properties(elements)) }
}

extension String {
    /// The longest prefix of whole Unicode scalars that fits into `limit` bytes of UTF-8.
    package func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: limit)
        while end > startIndex, utf8[end] & 0b1100_0000 == 0b1000_0000 {
            end = utf8.index(before: end)
        }
        return String(self[..<end])
    }
}
