extension Properties: RandomAccessCollection {
    /// The position of the first property: 0.
    public var startIndex: Int { 0 }
    /// The number of properties.
    public var endIndex: Int { storage.count }

    /// The property at `position`.
    public subscript(position: Int) -> Property {
        let (name, value) = storage.pair(at: position)
        return Property(name, value)
    }

    /// Passes each name and value to `body` in order, without the reference counting that a ``Property`` costs.
    @inlinable
    @inline(__always)
    package func forEachPair(_ body: (borrowing String, borrowing PropertyValue) -> Void) {
        storage.forEachPair(body)
    }

    /// Passes all pairs to `body` in their memory, where a loop reads them without copies. Returns nil without a call if the
    /// list has a part of its own and shares the rest with others, as below a stage that adds shared properties.
    package func withPairs(_ body: (UnsafeBufferPointer<(String, PropertyValue)>) -> Bool) -> Bool? {
        guard let block = storage.block else { return storage.pairs.withUnsafeBufferPointer(body) }
        return storage.pairs.isEmpty ? block.pairs.withUnsafeBufferPointer(body) : nil
    }
}

extension Properties: Hashable {
    /// Returns whether both lists have equal values for the same names, in any order.
    ///
    /// - Complexity: O(count).
    public static func == (left: Properties, right: Properties) -> Bool {
        guard left.count == right.count else { return false }
        var named: [String: PropertyValue]?
        return left.indices.allSatisfy { index in
            let (name, value) = left.storage.pair(at: index)
            let (otherName, otherValue) = right.storage.pair(at: index)
            if otherName == name { return otherValue == value }
            guard left.count > PropertyStorage.fewNames else { return right[name] == value }
            if named == nil { named = Dictionary(uniqueKeysWithValues: right.map { ($0.name, $0.value) }) }
            return named?[name] == value
        }
    }

    /// Hashes the names and values without regard to their order.
    public func hash(into hasher: inout Hasher) {
        var sum = 0
        forEachPair { name, value in
            var pair = Hasher()
            pair.combine(copy name)
            pair.combine(copy value)
            sum &+= pair.finalize()
        }
        hasher.combine(count)
        hasher.combine(sum)
    }
}
