// What a plugin adds to every event is the same each time. It is kept once, as a block that the lists of all events
// refer to: instead of twenty pairs, one reference is copied, and instead of twenty values, some bytes are written.
//
// A reader cannot tell. Whoever changes a property of a block gets pairs of its own first.

extension Properties {
    /// The same properties in a form that is cheap to ``addDefaults(_:)`` many lists from.
    ///
    /// - Complexity: O(count), and as much as their JSON takes.
    package func shared() -> Properties {
        guard !isEmpty else { return self }
        var result = Properties()
        result.block = SharedProperties(map { ($0.name, $0.value) }, bounds)
        result.bounds = bounds
        return result
    }

    /// Adds all of `others` by reference; false if that cannot be.
    mutating func share(_ others: Properties) -> Bool {
        guard block == nil, let block = others.block, others.pairs.isEmpty else { return false }
        // Of two with the same name, the event's own would win.
        guard hasNoName(of: block) else { return false }
        self.block = block
        blockStart = pairs.count
        bounds.formUnion(block.bounds)
        return true
    }

    private func hasNoName(of block: SharedProperties) -> Bool {
        let isASCII = bounds.hasOnlyASCIINames && block.bounds.hasOnlyASCIINames
        if isASCII, bounds.nameBits & block.bounds.nameBits == 0 { return true }
        return !pairs.contains { block.index(of: $0.0, isASCII: isASCII) != nil }
    }

    /// Turns the block's pairs into own ones, so that they can be changed.
    mutating func copyOutBlock() {
        guard let block else { return }
        pairs.insert(contentsOf: block.pairs, at: blockStart)
        self.block = nil
        blockStart = 0
    }
}
