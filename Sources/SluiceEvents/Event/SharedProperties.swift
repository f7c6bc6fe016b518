/// Properties that many events share, such as those that a plugin adds to every event, with their JSON.
///
/// A list refers to them as its `block`: it copies one reference instead of twenty pairs, and writes ready bytes instead of
/// twenty values. Before a property of the block is changed, the list copies the pairs.
@usableFromInline
final class SharedProperties: Sendable {
    @usableFromInline let pairs: [(String, PropertyValue)]
    let bounds: PropertyBounds
    /// The members of a JSON object without its braces: `"a":1,"b":2`.
    let json: [UInt8]

    init(_ pairs: [(String, PropertyValue)], _ bounds: PropertyBounds) {
        self.pairs = pairs
        self.bounds = bounds
        var writer = JSONWriter()
        writer.pairs(pairs, isFirst: true)
        json = writer.bytes
    }

    /// `isASCII` is whether `name` is ASCII.
    func index(of name: String, isASCII: Bool) -> Int? {
        pairs[...].index(of: name, isASCII: isASCII, bounds)
    }
}

extension Properties {
    /// Returns the same properties in a form that is cheap to pass to ``addDefaults(_:)``.
    ///
    /// - Complexity: O(length of the JSON).
    package func shared() -> Properties {
        guard !isEmpty else { return self }
        var result = Properties()
        result.block = SharedProperties(map { ($0.name, $0.value) }, bounds)
        result.bounds = bounds
        return result
    }

    /// Adds `others` by reference. Returns false if that isn't possible.
    mutating func share(_ others: Properties) -> Bool {
        guard block == nil, let block = others.block, others.pairs.isEmpty else { return false }
        // A property of the list takes precedence over one of the block with the same name.
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

    /// Replaces the block by its pairs, so that they can be changed.
    mutating func copyOutBlock() {
        guard let block else { return }
        pairs.insert(contentsOf: block.pairs, at: blockStart)
        self.block = nil
        blockStart = 0
    }
}
