extension Properties: RandomAccessCollection {
    /// The position of the first property: 0.
    public var startIndex: Int { 0 }
    /// The number of properties.
    public var endIndex: Int { pairs.count + (block?.pairs.count ?? 0) }

    /// The property at `position`.
    public subscript(position: Int) -> Property {
        let pair = pair(at: position)
        return Property(pair.0, pair.1)
    }

    private func pair(at position: Int) -> Pair {
        guard let block, position >= blockStart else { return pairs[position] }
        let inBlock = position - blockStart
        return inBlock < block.pairs.count ? block.pairs[inBlock] : pairs[position - block.pairs.count]
    }

    /// Passes each name and value to `body` in order, without the reference counting that a ``Property`` costs.
    @inlinable
    @inline(__always)
    package func forEachPair(_ body: (borrowing String, borrowing PropertyValue) -> Void) {
        var index = 0
        while index < blockStart {
            body(pairs[index].0, pairs[index].1)
            index += 1
        }
        if let block {
            for inBlock in 0..<block.pairs.count { body(block.pairs[inBlock].0, block.pairs[inBlock].1) }
        }
        while index < pairs.count {
            body(pairs[index].0, pairs[index].1)
            index += 1
        }
    }
}

extension Properties: Hashable {
    /// Returns whether both lists have equal values for the same names, in any order.
    ///
    /// - Complexity: O(count) if the order is the same, O(count²) otherwise.
    public static func == (left: Properties, right: Properties) -> Bool {
        guard left.count == right.count else { return false }
        return left.indices.allSatisfy { index in
            let (name, value) = left.pair(at: index)
            let (otherName, otherValue) = right.pair(at: index)
            return otherName == name ? otherValue == value : right[name] == value
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
