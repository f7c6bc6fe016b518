/// A list of values, bounded in depth and made keepable as it is built.
public struct PropertyArray: Sendable {
    private var elements: [PropertyValue]
    private(set) var depth: UInt8 = 1
    private(set) var sanitizations: Sanitizations = []

    /// - Complexity: O(count).
    public init(_ elements: some Sequence<PropertyValue>) {
        self.elements = Array(elements)
        for index in self.elements.indices {
            keep(at: index)
        }
    }

    /// - Complexity: amortised O(1).
    public mutating func append(_ value: PropertyValue) {
        elements.append(value)
        keep(at: elements.count - 1)
    }

    private mutating func keep(at index: Int) {
        let value = elements[index].sanitized(&sanitizations)
        elements[index] = value
        depth = Swift.max(depth, UInt8(value.depth + 1))
    }

    func cut(toDepth limit: Int, _ wasCut: inout Bool) -> PropertyArray {
        var result = PropertyArray(elements.map { $0.cut(toDepth: limit - 1, &wasCut) })
        result.sanitizations.formUnion(sanitizations)
        return result
    }
}

extension PropertyArray: RandomAccessCollection, ExpressibleByArrayLiteral, Equatable {
    public init(arrayLiteral elements: PropertyValue...) { self.init(elements) }
    public var startIndex: Int { elements.startIndex }
    public var endIndex: Int { elements.endIndex }
    public subscript(position: Int) -> PropertyValue { elements[position] }

    /// Arrays are equal if their elements are, whatever had to be repaired on the way.
    public static func == (left: PropertyArray, right: PropertyArray) -> Bool { left.elements == right.elements }
}
