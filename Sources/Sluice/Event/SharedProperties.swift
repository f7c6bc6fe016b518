/// Properties that many events share: made once, never changed, with their JSON beside them.
@usableFromInline
final class SharedProperties: Sendable {
    @usableFromInline let pairs: [(String, PropertyValue)]
    let bounds: PropertyBounds
    /// As they stand in an object, without its braces: `"a":1,"b":2`.
    let json: [UInt8]

    init(_ pairs: [(String, PropertyValue)], _ bounds: PropertyBounds) {
        self.pairs = pairs
        self.bounds = bounds
        var writer = JSONWriter()
        writer.pairs(pairs[...], isFirst: true)
        json = writer.bytes
    }

    /// - Parameter isASCII: whether the name is.
    func index(of name: String, isASCII: Bool) -> Int? {
        pairs[...].index(of: name, isASCII: isASCII, bounds)
    }
}
