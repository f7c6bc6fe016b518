/// A name and a typed value.
public struct Property: Sendable, Equatable {
    public var name: String
    public var value: PropertyValue

    public init(_ name: String, _ value: PropertyValue) {
        self.name = name
        self.value = value
    }
}

/// An event's properties, or an object among them: names in the order of their first setting, each once.
///
/// Whatever is put in is made keepable at once (see ``Sanitization``), so a value in here can always be written as JSON,
/// and no nesting is deep enough to exhaust a stack. Of a name given twice, the later value stands.
public struct Properties: Sendable {
    // Pairs rather than Property: the array of a dictionary literal is then taken over as it is, without a copy.
    @usableFromInline typealias Pair = (String, PropertyValue)

    /// All but those of ``block``.
    @usableFromInline var pairs: [Pair]
    /// Shared with other lists, see Properties+Sharing.swift.
    @usableFromInline var block: SharedProperties?
    /// How many of ``pairs`` stand before the block.
    @usableFromInline var blockStart = 0
    var bounds = PropertyBounds()

    public init() {
        pairs = []
    }

    /// - Complexity: O(count).
    public init(_ pairs: some Sequence<(String, PropertyValue)>) {
        self.pairs = Array(pairs)
        if let bounds = PropertyBounds(plain: self.pairs) {
            self.bounds = bounds
        } else {
            sanitize()
        }
    }

    /// The same properties as in a dictionary, which has no order: they are ordered by their names, so that the same
    /// dictionary always gives the same JSON.
    ///
    /// - Complexity: O(count × log count).
    // A literal would be taken for a dictionary, which has no order and traps on a name given twice.
    @_disfavoredOverload
    public init(_ dictionary: [String: PropertyValue]) {
        self.init(dictionary.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
    }

    /// The same properties: a literal in parentheses is one, with its names in the order in which they are written.
    public init(_ properties: Properties) {
        self = properties
    }

    /// The value under `name`; setting nil removes it, and setting ``PropertyValue/null`` writes a null.
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
                keep(at: index)
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

    /// Adds those of `others` whose names are not taken yet: what the event says itself takes precedence.
    ///
    /// - Complexity: O(count × others.count).
    public mutating func addDefaults(_ others: Properties) {
        if share(others) { return }
        let (own, ownBlock, ownSummary) = (pairs.count, block, bounds)
        pairs.reserveCapacity(own + others.count)
        others.forEachPair { name, value in
            let isASCII = name.isASCII
            let isTaken =
                pairs[..<own].index(of: name, isASCII: isASCII, ownSummary) != nil
                || ownBlock?.index(of: name, isASCII: isASCII) != nil
            if !isTaken { pairs.append((name, value)) }
        }
        // The others are keepable already.
        bounds.formUnion(others.bounds)
    }

    /// Removes every property for which `shouldRemove` says so.
    public mutating func removeAll(where shouldRemove: (Property) throws -> Bool) rethrows {
        copyOutBlock()
        try pairs.removeAll { try shouldRemove(Property($0.0, $0.1)) }
    }

    /// Among the own pairs.
    private func index(of name: String, isASCII: Bool) -> Int? {
        pairs[...].index(of: name, isASCII: isASCII, bounds)
    }

    private mutating func append(_ name: String, _ value: PropertyValue) {
        guard name.utf8.count <= Event.maximumNameBytes else {
            bounds.sanitizations.insert(.droppedProperty)
            return
        }
        pairs.append((name, value))
        keep(at: pairs.count - 1)
    }

    private mutating func keep(at index: Int) {
        pairs[index].1 = pairs[index].1.sanitized(&bounds.sanitizations)
        bounds.add(pairs[index].0, pairs[index].1)
    }

    func cut(toDepth limit: Int, _ wasCut: inout Bool) -> Properties {
        var result = self
        result.copyOutBlock()
        result.bounds.depth = 1
        for index in result.pairs.indices {
            let value = result.pairs[index].1.cut(toDepth: limit - 1, &wasCut)
            result.pairs[index].1 = value
            result.bounds.depth = Swift.max(result.bounds.depth, UInt8(value.depth + 1))
        }
        return result
    }
}

// MARK: What is not plain

extension Properties {
    private mutating func sanitize() {
        if hasDuplicates() { pairs = uniquePairs() }
        for index in pairs.indices {
            keep(at: index)
        }
        removeOverlongNames()
    }

    private func hasDuplicates() -> Bool {
        // Comparing all with all beats hashing while there are few.
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

    private mutating func removeOverlongNames() {
        let count = pairs.count
        pairs.removeAll { $0.0.utf8.count > Event.maximumNameBytes }
        if pairs.count < count { bounds.sanitizations.insert(.droppedProperty) }
    }
}

extension ArraySlice where Element == Properties.Pair {
    /// - Parameters:
    ///   - isASCII: whether the name is.
    ///   - bounds: of these pairs, or of these and others.
    func index(of name: String, isASCII: Bool, _ bounds: PropertyBounds) -> Int? {
        guard isASCII, bounds.hasOnlyASCIINames else { return firstIndex { $0.0 == name } }
        guard bounds.nameBits & NameFingerprint(name).bit != 0 else { return nil }
        return firstIndex { $0.0.isSameASCII(as: name) }
    }
}

extension Properties: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, PropertyValue)...) { self.init(elements) }
}
