/// A type whose values can be values of properties, as they are: `["query": query]`.
///
/// The standard library's strings, numbers and booleans conform, and so do optionals, arrays and dictionaries of conforming
/// types. `SluiceFoundation` adds `Data`, `Date`, `URL`, `UUID` and `Decimal`.
///
/// ## Conforming
/// - An enum with raw values needs only the name of the protocol.
/// - For any other type, return a ``PropertyValue`` from ``propertyValue``. It is sanitized when it is added to properties.
///
/// ```swift
/// enum Plan: String, PropertyConvertible {
///     case free, paid
/// }
/// struct Price: PropertyConvertible {
///     let cents: Int
///     var propertyValue: PropertyValue { .double(Double(cents) / 100) }
/// }
/// let (plan, price) = (Plan.paid, Price(cents: 999))
/// pipeline.track("Upgrade", ["plan": plan, "price": price])
/// ```
public protocol PropertyConvertible {
    /// The value as a property can hold it. Called on the thread that tracks the event.
    var propertyValue: PropertyValue { get }
}

/// A dictionary literal whose values can be variables, such as `["query": query, "results": results.count]`.
///
/// You rarely write this type. The verbs of plugins take it, so you pass them a literal. They also take a ``PropertyList``: a
/// list or a dictionary that you have already.
///
/// ```swift
/// import SluiceDuration
///
/// let timers = DurationTimer()
/// let (query, common) = ("shoes", Properties(["page": 2]))
/// timers.end("Search", ["query": query, "length": query.count])
/// timers.end("Search", common + ["query": query])
/// ```
///
/// The methods of `Pipeline` that take ``Properties`` have an overload for this type, which Swift chooses as soon as a value
/// of the literal isn't a literal. Outside of such a method, write `Properties(["query": query])`.
///
/// An optional that is nil becomes ``PropertyValue/null``. If you give a name twice, the later value is used, and the event
/// counts as sanitized. Beside a variable, Swift needs a word more for two literals: write `.null` for nil, and
/// `.array([…])` or `.object([…])` for a literal in the literal whose values have several types.
public struct PropertyLiteral: ExpressibleByDictionaryLiteral, Sendable {
    /// The values of the literal.
    public let properties: Properties

    /// Creates a literal from a list, for a method that takes a literal.
    ///
    /// ```swift
    /// let literal = PropertyLiteral(["page": 2])
    /// ```
    public init(_ properties: Properties) {
        self.properties = properties
    }

    /// A pair of the literal. Its parts are read in their places, without a copy of the tuple. A test checks that the layout is
    /// that of the tuple.
    struct Element {
        let name: String
        let value: any PropertyConvertible
    }

    /// Creates properties from the names and values of a literal.
    public init(dictionaryLiteral elements: (String, any PropertyConvertible)...) {
        var pairs: [PropertyStorage.Pair] = []
        pairs.reserveCapacity(elements.count)
        elements.withUnsafeBufferPointer { elements in
            elements.withMemoryRebound(to: Element.self) { elements in
                for index in 0..<elements.count {
                    pairs.append((elements[index].name, elements[index].value.propertyValue))
                }
            }
        }
        properties = Properties(PropertyStorage(pairs))
    }
}

/// A list of properties that you have in a variable: ``Properties``, or a dictionary whose names are strings. The verbs of
/// plugins take it, such as `timers.end("Search", common)`.
public protocol PropertyList: PropertyConvertible {}

extension PropertyList {
    /// The list for a method that takes a literal.
    package var literal: PropertyLiteral { PropertyLiteral(propertyValue.object ?? [:]) }
}

// MARK: Conforming types

extension PropertyValue: PropertyConvertible {
    /// The value itself.
    public var propertyValue: PropertyValue { self }
}

extension PropertyArray: PropertyConvertible {
    /// An array.
    public var propertyValue: PropertyValue { .array(self) }
}

extension Properties: PropertyList {
    /// An object.
    public var propertyValue: PropertyValue { .object(self) }
}

extension PropertyLiteral: PropertyList {
    /// An object.
    public var propertyValue: PropertyValue { .object(properties) }
}

extension Timestamp: PropertyConvertible {
    /// A date.
    public var propertyValue: PropertyValue { .date(self) }
}

extension EventID: PropertyConvertible {
    /// The id as a string.
    public var propertyValue: PropertyValue { .string(description) }
}

extension PropertyConvertible where Self: StringProtocol {
    /// A string.
    public var propertyValue: PropertyValue { .string(String(self)) }
}

extension String: PropertyConvertible {
    /// A string.
    public var propertyValue: PropertyValue { .string(self) }
}

extension Substring: PropertyConvertible {}

extension Character: PropertyConvertible {
    /// A string of one character.
    public var propertyValue: PropertyValue { .string(String(self)) }
}

extension PropertyConvertible where Self: BinaryInteger {
    /// An integer. One that doesn't fit into 64 bits becomes the nearest double.
    public var propertyValue: PropertyValue { .int(self) }
}

extension Int: PropertyConvertible {}
extension Int8: PropertyConvertible {}
extension Int16: PropertyConvertible {}
extension Int32: PropertyConvertible {}
extension Int64: PropertyConvertible {}
extension UInt: PropertyConvertible {}
extension UInt8: PropertyConvertible {}
extension UInt16: PropertyConvertible {}
extension UInt32: PropertyConvertible {}
extension UInt64: PropertyConvertible {}

extension Double: PropertyConvertible {
    /// A number. A NaN or an infinity becomes null.
    public var propertyValue: PropertyValue { .double(self) }
}

extension Float: PropertyConvertible {
    /// The number with the same shortest decimal digits: a `Float` of 0.1 becomes 0.1, not 0.10000000149011612.
    public var propertyValue: PropertyValue { .double(Double(description) ?? Double(self)) }
}

extension Bool: PropertyConvertible {
    /// True or false.
    public var propertyValue: PropertyValue { .bool(self) }
}

extension Optional: PropertyConvertible where Wrapped: PropertyConvertible {
    /// The wrapped value, or null.
    public var propertyValue: PropertyValue { self?.propertyValue ?? .null }
}

extension Array: PropertyConvertible where Element: PropertyConvertible {
    /// An array.
    public var propertyValue: PropertyValue { .array(PropertyArray(lazy.map(\.propertyValue))) }
}

extension ArraySlice: PropertyConvertible where Element: PropertyConvertible {
    /// An array.
    public var propertyValue: PropertyValue { .array(PropertyArray(lazy.map(\.propertyValue))) }
}

extension Dictionary: PropertyConvertible, PropertyList where Key == String, Value: PropertyConvertible {
    /// An object, sorted by name: equal dictionaries result in equal JSON.
    public var propertyValue: PropertyValue { .object(Properties(mapValues(\.propertyValue))) }
}

extension PropertyConvertible where Self: RawRepresentable, RawValue: PropertyConvertible {
    /// The raw value.
    public var propertyValue: PropertyValue { rawValue.propertyValue }
}

// MARK: Cases in a literal with variables

// Members of PropertyLiteral, not of PropertyValue: a second `.string` there would make its cases ambiguous for macros.
extension PropertyConvertible where Self == PropertyLiteral {
    /// A string.
    public static func string(_ value: String) -> PropertyValue { PropertyValue.string(value) }

    /// An integer. One that doesn't fit into 64 bits becomes the nearest double.
    public static func int(_ value: some BinaryInteger) -> PropertyValue { PropertyValue.int(value) }

    /// A number. A NaN or an infinity becomes null.
    public static func double(_ value: Double) -> PropertyValue { PropertyValue.double(value) }

    /// True or false.
    public static func bool(_ value: Bool) -> PropertyValue { PropertyValue.bool(value) }

    /// A date.
    public static func date(_ value: Timestamp) -> PropertyValue { PropertyValue.date(value) }

    /// A null.
    public static var null: PropertyValue { PropertyValue.null }

    /// An array with values of several types: `["query": query, "range": .array([1, end])]`.
    public static func array(_ values: [(any PropertyConvertible)?]) -> PropertyValue {
        PropertyValue.array(PropertyArray(values.map { $0?.propertyValue ?? .null }))
    }

    /// An object with values of several types: `["query": query, "cart": .object(["total": total, "items": items])]`.
    public static func object(_ literal: PropertyLiteral) -> PropertyValue { PropertyValue.object(literal.properties) }
}
