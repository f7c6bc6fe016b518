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
public struct Properties: Sendable {
    // Pairs instead of Property, so that the array of a dictionary literal is used without a copy.
    @usableFromInline typealias Pair = (String, PropertyValue)

    /// All pairs except those of ``block``.
    @usableFromInline var pairs: [Pair]
    /// Pairs that other lists share.
    @usableFromInline var block: SharedProperties?
    /// The number of ``pairs`` before the block.
    @usableFromInline var blockStart = 0
    var bounds = PropertyBounds()

    /// Creates an empty list.
    public init() {
        pairs = []
    }

    /// Creates a list of names and values.
    ///
    /// - Complexity: O(count).
    public init(_ pairs: some Sequence<(String, PropertyValue)>) {
        self.init(unchecked: Array(pairs))
    }

    private init(unchecked pairs: consuming [Pair]) {
        self.pairs = pairs
        if let bounds = PropertyBounds(plain: self.pairs) {
            self.bounds = bounds
        } else {
            sanitize()
        }
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
    /// Creates a list from a dictionary, sorted by name, so that equal dictionaries result in equal JSON.
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
        get {
            let isASCII = name.isASCII
            if let index = index(of: name, isASCII: isASCII) { return pairs[index].1 }
            guard let block, let index = block.index(of: name, isASCII: isASCII) else { return nil }
            return block.pairs[index].1
        }
        set {
            let isASCII = name.isASCII
            if block?.index(of: name, isASCII: isASCII) != nil { copyOutBlock() }
            switch (index(of: name, isASCII: isASCII), newValue) {
            case (let index?, let value?):
                pairs[index].1 = value
                sanitize(at: index)
            case (let index?, nil):
                pairs.remove(at: index)
                if index < blockStart { blockStart -= 1 }
            case (nil, let value?):
                append(name, value)
            case (nil, nil):
                break
            }
        }
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
    /// - Complexity: O(count × others.count).
    public mutating func merge(_ others: Properties) {
        let sanitizations = bounds.sanitizations.union(others.bounds.sanitizations)
        if isEmpty {
            self = others
        } else {
            others.forEachPair { name, value in self[copy name] = copy value }
        }
        bounds.sanitizations = sanitizations
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
    /// - Complexity: O(count × others.count).
    public mutating func addDefaults(_ others: Properties) {
        if share(others) { return }
        let (own, ownBlock, ownBounds) = (pairs.count, block, bounds)
        pairs.reserveCapacity(own + others.count)
        others.forEachPair { name, value in
            let isASCII = name.isASCII
            let isTaken =
                pairs[..<own].index(of: name, isASCII: isASCII, ownBounds) != nil
                || ownBlock?.index(of: name, isASCII: isASCII) != nil
            if !isTaken { pairs.append((name, value)) }
        }
        // The others have been sanitized.
        bounds.formUnion(others.bounds)
    }

    /// Removes the properties for which `shouldRemove` returns true.
    ///
    /// - Throws: Errors thrown by `shouldRemove`.
    public mutating func removeAll(where shouldRemove: (Property) throws -> Bool) rethrows {
        copyOutBlock()
        try pairs.removeAll { try shouldRemove(Property($0.0, $0.1)) }
    }

    /// Searches `pairs`, not the block.
    private func index(of name: String, isASCII: Bool) -> Int? {
        pairs[...].index(of: name, isASCII: isASCII, bounds)
    }

    private mutating func append(_ name: String, _ value: PropertyValue) {
        guard name.utf8.count <= Event.maximumNameBytes else {
            bounds.sanitizations.insert(.droppedProperty)
            return
        }
        pairs.append((name, value))
        sanitize(at: pairs.count - 1)
    }

    private mutating func sanitize(at index: Int) {
        pairs[index].1 = pairs[index].1.sanitized(&bounds.sanitizations)
        bounds.add(pairs[index].0, pairs[index].1)
    }

    func truncated(toDepth limit: Int, _ sanitizations: inout Sanitizations) -> Properties {
        var result = self
        result.copyOutBlock()
        result.bounds.depth = 1
        for index in result.pairs.indices {
            let value = result.pairs[index].1.truncated(toDepth: limit - 1, &sanitizations)
            result.pairs[index].1 = value
            result.bounds.depth = Swift.max(result.bounds.depth, UInt8(value.depth + 1))
        }
        return result
    }
}

// MARK: Sanitizing

extension Properties {
    private mutating func sanitize() {
        let hasDuplicates = hasDuplicates()
        if hasDuplicates { bounds.sanitizations.insert(.droppedProperty) }
        let unsanitized = hasDuplicates ? uniquePairs() : pairs
        pairs = []
        pairs.reserveCapacity(unsanitized.count)
        for (name, value) in unsanitized { append(name, value) }
    }

    private func hasDuplicates() -> Bool {
        // For few names, comparing all pairs is faster than hashing.
        guard pairs.count <= 12 else { return Set(pairs.lazy.map(\.0)).count < pairs.count }
        for index in pairs.indices.dropFirst() where pairs[..<index].contains(where: { $0.0 == pairs[index].0 }) {
            return true
        }
        return false
    }

    private func uniquePairs() -> [Pair] {
        var positions: [String: Int] = [:]
        var result: [Pair] = []
        for (name, value) in pairs {
            if let position = positions[name] {
                result[position].1 = value
            } else {
                positions[name] = result.count
                result.append((name, value))
            }
        }
        return result
    }
}

extension ArraySlice where Element == Properties.Pair {
    /// `isASCII` is whether `name` is ASCII; `bounds` are the bounds of at least these pairs.
    func index(of name: String, isASCII: Bool, _ bounds: PropertyBounds) -> Int? {
        guard isASCII, bounds.hasOnlyASCIINames else { return firstIndex { $0.0 == name } }
        guard bounds.nameBits & NameFingerprint(name).bit != 0 else { return nil }
        return firstIndex { $0.0.isSameASCII(as: name) }
    }
}

extension Properties: ExpressibleByDictionaryLiteral {
    /// Creates a list from a literal such as `["amount": 12.5, "sku": "A-7"]`.
    public init(dictionaryLiteral elements: (String, PropertyValue)...) { self.init(unchecked: elements) }
}
