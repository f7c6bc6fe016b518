/// An array of values. Values are sanitized when you add them (see ``Sanitization``).
///
/// ```swift
/// var sizes: PropertyArray = ["S", "M"]
/// sizes.append("XL")
/// pipeline.track("Search", ["sizes": .array(sizes)])
/// ```
public struct PropertyArray: Sendable {
    private var elements: [PropertyValue]
    private(set) var depth: UInt8 = 1
    private(set) var sanitizations: Sanitizations = []

    /// Creates an array.
    ///
    /// - Complexity: O(count).
    public init(_ elements: some Sequence<PropertyValue>) {
        self.elements = Array(elements)
        for index in self.elements.indices { sanitize(at: index) }
    }

    /// Adds a value at the end.
    ///
    /// - Complexity: amortized O(1).
    public mutating func append(_ value: PropertyValue) {
        elements.append(value)
        sanitize(at: elements.count - 1)
    }

    private mutating func sanitize(at index: Int) {
        let value = elements[index].sanitized(&sanitizations)
        elements[index] = value
        depth = Swift.max(depth, UInt8(value.depth + 1))
    }

    func truncated(toDepth limit: Int, _ sanitizations: inout Sanitizations) -> PropertyArray {
        var result = PropertyArray(elements.map { $0.truncated(toDepth: limit - 1, &sanitizations) })
        result.sanitizations.formUnion(self.sanitizations)
        return result
    }
}

extension PropertyArray: RandomAccessCollection, ExpressibleByArrayLiteral, Hashable {
    /// Creates an array from a literal.
    public init(arrayLiteral elements: PropertyValue...) { self.init(elements) }
    /// The position of the first value: 0.
    public var startIndex: Int { elements.startIndex }
    /// The number of values.
    public var endIndex: Int { elements.endIndex }
    /// The value at `position`.
    public subscript(position: Int) -> PropertyValue { elements[position] }

    /// Returns whether the elements are equal. Sanitizations aren't compared.
    public static func == (left: PropertyArray, right: PropertyArray) -> Bool { left.elements == right.elements }

    /// Hashes the elements.
    public func hash(into hasher: inout Hasher) { hasher.combine(elements) }
}
