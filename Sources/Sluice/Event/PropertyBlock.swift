/// Properties that many events share: made once, never changed, with their JSON beside them.
@usableFromInline
final class PropertyBlock: Sendable {
    @usableFromInline let pairs: [(String, PropertyValue)]
    let summary: PropertySummary
    /// As they stand in an object, without its braces: `"a":1,"b":2`.
    let json: [UInt8]

    init(_ pairs: [(String, PropertyValue)], _ summary: PropertySummary) {
        self.pairs = pairs
        self.summary = summary
        var writer = JSONWriter()
        writer.pairs(pairs[...], isFirst: true)
        json = writer.bytes
    }

    /// - Parameter isASCII: whether the name is.
    func index(of name: String, isASCII: Bool) -> Int? {
        pairs[...].index(of: name, isASCII: isASCII, summary)
    }
}
