/// An event as a type that writes its own properties, without `Encodable`. A tracking plan generates such types.
///
/// Conform to ``TrackedEvent`` instead if you want Swift to derive the event's properties from the stored properties of the
/// type. Such an event takes several times the code and the instructions.
///
/// ```swift
/// struct Refund: TypedEvent {
///     static let eventName = "Refund"
///     let sku: String
///     var eventProperties: Properties { ["sku": .string(sku)] }
/// }
/// pipeline.track(Refund(sku: "A-7"))
/// ```
public protocol TypedEvent {
    /// The name of all events of this type.
    static var eventName: String { get }

    /// The event's properties. They are read on the thread that tracks the event.
    ///
    /// - Throws: An error of your own. The event then has only the property `$encoding_error`.
    var eventProperties: Properties { get throws }
}

/// The values of a generated event, in the order of the calls. A value that is nil is left out.
///
/// ```swift
/// struct Refund: TypedEvent {
///     static let eventName = "Refund"
///     private var values = EventValues()
///     var eventProperties: Properties { values.properties }
///
///     init(sku: String, reason: String? = nil) {
///         values.add("sku", sku)
///         values.add("reason", reason)
///     }
/// }
/// ```
///
/// The type consists of one pointer, because each type of event has its own code to copy its values. With a stored property
/// for each value, an event takes three times as much code.
public struct EventValues: Sendable {
    private var pairs: [(String, PropertyValue)] = []

    /// Creates an empty list of values.
    public init() {}

    /// The values as properties.
    ///
    /// - Complexity: O(count).
    public var properties: Properties { Properties(PropertyStorage(pairs)) }

    /// Adds a string unless it is nil.
    public mutating func add(_ name: String, _ value: String?) { if let value { append(name, .string(value)) } }

    /// Adds an integer unless it is nil.
    public mutating func add(_ name: String, _ value: Int?) { if let value { append(name, .int(Int64(value))) } }

    /// Adds a number unless it is nil. A NaN or an infinity becomes null.
    public mutating func add(_ name: String, _ value: Double?) { if let value { append(name, .double(value)) } }

    /// Adds true or false unless it is nil.
    public mutating func add(_ name: String, _ value: Bool?) { if let value { append(name, .bool(value)) } }

    /// Adds a date unless it is nil.
    public mutating func add(_ name: String, _ value: Timestamp?) { if let value { append(name, .date(value)) } }

    /// Adds an array, an object or any other value unless it is nil.
    public mutating func add(_ name: String, _ value: PropertyValue?) { if let value { append(name, value) } }

    private mutating func append(_ name: String, _ value: PropertyValue) {
        // Most events have up to eight properties, so their list doesn't move.
        if pairs.isEmpty { pairs.reserveCapacity(8) }
        pairs.append((name, value))
    }
}
