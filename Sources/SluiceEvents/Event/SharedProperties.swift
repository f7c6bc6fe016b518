/// Properties with their JSON: the ones that many events share, such as those that a plugin adds to every event, or the ones
/// of a line that was read.
///
/// A list refers to them as its `block`: it copies one reference instead of twenty pairs, and writes ready bytes instead of
/// twenty values. Before a property of the block is changed, the list copies the pairs.
@usableFromInline
final class SharedProperties: Sendable {
    @usableFromInline let pairs: [(String, PropertyValue)]
    let bounds: PropertyBounds
    /// The members of a JSON object, each with a comma before it: `,"a":1,"b":2`. Dates are marked.
    let json: [UInt8]
    /// The end of each member, after a zero.
    private let ends: [Int]
    /// Whether a date can be among the values.
    let hasDates: Bool

    init(_ pairs: [(String, PropertyValue)], _ bounds: PropertyBounds) {
        (self.pairs, self.bounds, hasDates) = (pairs, bounds, true)
        var writer = JSONWriter(marksDates: true)
        var ends = [0]
        pairs.withUnsafeBufferPointer { pairs in
            for index in pairs.indices {
                writer.members(pairs, index..<index + 1)
                ends.append(writer.count)
            }
        }
        (json, self.ends) = (writer.bytes, ends)
    }

    /// Creates a block of a list that has no block. `object` is the JSON that a writer would write for the list, and `ends` are the
    /// ends of the members in it, after a zero.
    init(_ storage: PropertyStorage, _ object: UnsafeBufferPointer<UInt8>, _ ends: [Int], hasDates: Bool) {
        (pairs, bounds, self.ends, self.hasDates) = (storage.pairs, storage.bounds, ends, hasDates)
        // Each member begins with a comma, here instead of the opening brace.
        var json = Array(UnsafeBufferPointer(rebasing: object.dropLast()))
        json[0] = UInt8(ascii: ",")
        self.json = json
    }

    /// Passes the JSON of some of the members, without the reference counting that a slice costs.
    @inline(__always)
    func withJSON(of members: Range<Int>, _ body: (UnsafeRawBufferPointer) -> Void) {
        json.withUnsafeBytes { json in
            body(UnsafeRawBufferPointer(rebasing: json[ends[members.lowerBound]..<ends[members.upperBound]]))
        }
    }

    /// `fingerprint` is that of `name`.
    func index(of name: String, _ fingerprint: NameFingerprint) -> Int? {
        pairs[...].index(of: name, fingerprint, bounds)
    }
}
