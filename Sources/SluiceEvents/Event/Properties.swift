/// A name and a typed value.
public struct Property: Sendable, Hashable {
    /// The name.
    public var name: String
    /// The value.
    public var value: PropertyValue

    /// Creates a property.
    public init(_ name: String, _ value: PropertyValue) {
        self.name = name
        self.value = value
    }

    /// Creates a property from a variable: `Property("query", query)`.
    @_disfavoredOverload
    public init(_ name: String, _ value: some PropertyConvertible) {
        self.init(name, value.propertyValue)
    }
}

/// The properties of an event, or an object among them: unique names in the order in which you first set them.
///
/// Values are sanitized when you add them (see ``Sanitization``), so they can always be written as JSON, and no nesting is
/// deep enough to exhaust the stack. If you give a name twice, the later value is used, and the event counts as sanitized.
///
/// ```swift
/// var purchase: Properties = ["sku": "A-7", "amount": 12.5]
/// purchase["coupon"] = "SPRING"
/// for property in purchase { print(property.name, property.value) }
/// ```
public struct Properties: Sendable {
    @usableFromInline var storage: PropertyStorage

    init(_ storage: PropertyStorage) {
        self.storage = storage
    }

    /// Creates an empty list.
    public init() {
        storage = PropertyStorage()
    }

    /// Creates a list of names and values.
    ///
    /// - Complexity: O(count).
    public init(_ pairs: some Sequence<(String, PropertyValue)>) {
        self.init(PropertyStorage(Array(pairs)))
    }

    /// Creates a list of properties.
    ///
    /// - Complexity: O(count).
    public init(_ properties: [Property]) {
        self.init(properties.lazy.map { ($0.name, $0.value) })
    }

    /// Creates a list from a literal with variables: `Properties(["query": query])`.
    @_disfavoredOverload
    public init(_ literal: PropertyLiteral) {
        self = literal.properties
    }

    // The names are AnyHashable, to which Swift converts strings as the last resort. With String, a literal with variables
    // would be a dictionary instead of a PropertyLiteral: it has no order, and ends the process on a name given twice.
    /// Creates a list from a dictionary, sorted by name: equal dictionaries result in equal JSON.
    ///
    /// ```swift
    /// let category = ["category": "music"]
    /// let properties = Properties(category)
    /// ```
    ///
    /// - Parameter dictionary: The values by their names. A name that isn't a string becomes its description.
    /// - Complexity: O(count × log count).
    @_disfavoredOverload
    public init(_ dictionary: [AnyHashable: some PropertyConvertible]) {
        let pairs = dictionary.map { ($0.key.base as? String ?? "\($0.key)", $0.value.propertyValue) }
        self.init(pairs.sorted { $0.0 < $1.0 })
    }

    /// Creates a copy. This initializer makes `Properties([…])` a literal of properties, in the order of its names.
    public init(_ properties: Properties) {
        self = properties
    }

    /// The value for `name`. Set nil to remove it, or ``PropertyValue/null`` to keep a null.
    ///
    /// - Complexity: O(count).
    public subscript(name: String) -> PropertyValue? {
        get { storage.value(for: name) }
        set { storage.set(name, newValue) }
    }

    /// The value for `name`, to set it from a variable: `event.properties["query"] = query`. Set nil to remove it.
    ///
    /// - Complexity: O(count).
    @_disfavoredOverload
    public subscript(name: String) -> (any PropertyConvertible)? {
        get { self[name] as PropertyValue? }
        set { self[name] = newValue?.propertyValue }
    }

    /// Adds a property at the end. A name that is in the list keeps its place, and gets the new value.
    ///
    /// - Complexity: O(count).
    public mutating func append(_ property: Property) {
        self[property.name] = property.value
    }

    /// Adds the properties of `others`. Names that are in both lists get the value of `others`.
    ///
    /// ```swift
    /// purchase.merge(["amount": 10, "coupon": nil])
    /// ```
    ///
    /// - Complexity: O(count × others.count).
    public mutating func merge(_ others: Properties) {
        storage.merge(others.storage)
    }

    /// Adds the properties of a literal with variables, as ``merge(_:)`` does.
    @_disfavoredOverload
    public mutating func merge(_ others: PropertyLiteral) {
        merge(others.properties)
    }

    /// Returns the properties of both lists. Names that are in both have the value of `right`.
    public static func + (left: Properties, right: Properties) -> Properties {
        var result = left
        result.merge(right)
        return result
    }

    /// Returns the properties of a list and of a literal with variables, which takes precedence.
    @_disfavoredOverload
    public static func + (left: Properties, right: PropertyLiteral) -> Properties {
        left + right.properties
    }

    /// Adds the properties of `others` whose names aren't in this list. Existing values are kept.
    ///
    /// ```swift
    /// purchase.addDefaults(["currency": "EUR"])
    /// ```
    ///
    /// - Complexity: O(count × others.count).
    public mutating func addDefaults(_ others: Properties) {
        storage.addDefaults(others.storage)
    }

    /// Removes the properties for which `shouldRemove` returns true.
    ///
    /// - Throws: Errors thrown by `shouldRemove`.
    public mutating func removeAll(where shouldRemove: (Property) throws -> Bool) rethrows {
        try storage.removeAll { try shouldRemove(Property($0.0, $0.1)) }
    }

    /// Returns the list with each property replaced for which `replacement` returns another one; nil if it returns none. If
    /// names become equal, the last value stays.
    ///
    /// - Complexity: O(count), where setting one property after the other is O(count²).
    package func replacing(_ replacement: (Property) -> Property?) -> Properties? {
        var pairs: [PropertyStorage.Pair]?
        for (index, property) in enumerated() {
            guard let new = replacement(property) else { continue }
            if pairs == nil { pairs = map { ($0.name, $0.value) } }
            pairs?[index] = (new.name, new.value)
        }
        return pairs.map { replacingAll(by: $0) }
    }

    /// Returns a list of other properties that keeps the sanitizations of this one.
    ///
    /// - Complexity: O(count).
    package func replacingAll(by pairs: [(String, PropertyValue)]) -> Properties {
        Properties(PropertyStorage(pairs, after: storage))
    }

    /// Returns the same properties in a form that is cheap to pass to ``addDefaults(_:)``.
    ///
    /// - Complexity: O(length of the JSON).
    package func shared() -> Properties {
        if isEmpty { return self }
        return Properties(PropertyStorage(SharedProperties(map { ($0.name, $0.value) }, storage.bounds)))
    }
}

extension Properties: ExpressibleByDictionaryLiteral {
    /// Creates a list from a literal such as `["amount": 12.5, "sku": "A-7"]`.
    public init(dictionaryLiteral elements: (String, PropertyValue)...) { self.init(PropertyStorage(elements)) }
}
