/// Properties that many events share, such as the ones that a plugin adds to every event, with their JSON.
///
/// A list refers to them as its `block`: it copies one reference instead of twenty pairs, and writes ready bytes instead of
/// twenty values. Before a property of the block is changed, the list copies the pairs.
@usableFromInline
final class SharedProperties: Sendable {
    @usableFromInline let pairs: [(String, PropertyValue)]
    let bounds: PropertyBounds
    /// The members of a JSON object, each with a comma before it: `,"a":1,"b":2`.
    let json: [UInt8]

    init(_ pairs: [(String, PropertyValue)], _ bounds: PropertyBounds) {
        self.pairs = pairs
        self.bounds = bounds
        var writer = JSONWriter(marksDates: true)
        writer.members(pairs)
        json = writer.bytes
    }

    /// `isASCII` is whether `name` is ASCII.
    func index(of name: String, isASCII: Bool) -> Int? {
        pairs[...].index(of: name, isASCII: isASCII, bounds)
    }
}
