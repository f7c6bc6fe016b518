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
/// Whatever is put in is made keepable at once (see ``Repair``), so a value in here can always be written as JSON,
/// and no nesting is deep enough to exhaust a stack. Of a name given twice, the later value stands.
public struct Properties: Sendable {
    // Pairs rather than Property: the array of a dictionary literal is then taken over as it is, without a copy.
    private var pairs: [(String, PropertyValue)]
    private(set) var depth: UInt8 = 1
    private(set) var repairs: Repairs = []

    public init() {
        pairs = []
    }

    /// - Complexity: O(count).
    public init(_ pairs: some Sequence<(String, PropertyValue)>) {
        self.pairs = Array(pairs)
        if hasDuplicates() { self.pairs = uniquePairs() }
        for index in self.pairs.indices {
            keep(at: index)
        }
        removeOverlongNames()
    }

    /// The value under `name`; setting nil removes it, and setting ``PropertyValue/null`` writes a null.
    ///
    /// - Complexity: O(count).
    public subscript(name: String) -> PropertyValue? {
        get {
            index(of: name).map { pairs[$0].1 }
        }
        set {
            switch (index(of: name), newValue) {
            case (let index?, let value?):
                pairs[index].1 = value
                keep(at: index)
            case (let index?, nil):
                pairs.remove(at: index)
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
    public mutating func fill(from others: Properties) {
        pairs.reserveCapacity(pairs.count + others.pairs.count)
        let own = pairs.count
        for (name, value) in others.pairs where !pairs[..<own].contains(where: { $0.0 == name }) {
            pairs.append((name, value))
        }
        // The others are keepable already.
        depth = Swift.max(depth, others.depth)
        repairs.formUnion(others.repairs)
    }

    /// Removes every property for which `shouldRemove` says so.
    public mutating func removeAll(where shouldRemove: (Property) throws -> Bool) rethrows {
        try pairs.removeAll { try shouldRemove(Property($0.0, $0.1)) }
    }

    private func index(of name: String) -> Int? {
        pairs.firstIndex { $0.0 == name }
    }

    private mutating func append(_ name: String, _ value: PropertyValue) {
        guard name.utf8.count <= Event.maximumNameBytes else {
            repairs.insert(.droppedProperty)
            return
        }
        pairs.append((name, value))
        keep(at: pairs.count - 1)
    }

    private mutating func keep(at index: Int) {
        let value = pairs[index].1.keepable(&repairs)
        pairs[index].1 = value
        depth = Swift.max(depth, UInt8(value.depth + 1))
    }

    private func hasDuplicates() -> Bool {
        // Comparing all with all beats hashing while there are few.
        guard pairs.count <= 12 else { return Set(pairs.lazy.map(\.0)).count < pairs.count }
        for index in pairs.indices.dropFirst() where pairs[..<index].contains(where: { $0.0 == pairs[index].0 }) {
            return true
        }
        return false
    }

    private func uniquePairs() -> [(String, PropertyValue)] {
        var positions: [String: Int] = [:]
        var result: [(String, PropertyValue)] = []
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
        if pairs.count < count { repairs.insert(.droppedProperty) }
    }

    func cut(toDepth limit: Int, _ wasCut: inout Bool) -> Properties {
        var result = Properties(pairs.map { ($0.0, $0.1.cut(toDepth: limit - 1, &wasCut)) })
        result.repairs.formUnion(repairs)
        return result
    }
}

extension Properties: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { pairs.count }
    public subscript(position: Int) -> Property { Property(pairs[position].0, pairs[position].1) }
}

extension Properties: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, PropertyValue)...) { self.init(elements) }
}

extension Properties: Equatable {
    /// Equal if the same names have the same values, in whatever order.
    ///
    /// - Complexity: O(count) if the order is the same, O(count²) if not.
    public static func == (left: Properties, right: Properties) -> Bool {
        guard left.count == right.count else { return false }
        return left.indices.allSatisfy { index in
            let (name, value) = left.pairs[index]
            return right.pairs[index].0 == name ? right.pairs[index].1 == value : right[name] == value
        }
    }
}
