/// The name of a file: the token of its events, their number, and an ending.
///
/// The token begins with the id of the first event, so the same events have the same name, and names sort by time.
package struct EventFile {
    private let token: String
    package let count: Int

    package static let plainEnding = ".ndjson"
    package static let gzipEnding = ".ndjson.gz"

    /// The file of all events of a batch.
    package init(_ batch: Batch) {
        token = batch.deduplicationToken
        count = batch.events.count
    }

    /// Nil if no transport has made such a name.
    package init?(name: String) {
        let ending = name.hasSuffix(Self.gzipEnding) ? Self.gzipEnding : Self.plainEnding
        guard name.hasSuffix(ending) else { return nil }
        let stem = name.dropLast(ending.count)
        let (id, rest) = (stem.prefix(EventID.textLength), stem.dropFirst(EventID.textLength))
        let parts = rest.split(separator: "-", omittingEmptySubsequences: false)
        // Names of other programs can end with a number too.
        guard EventID(String(id)) != nil, parts.count == 3, parts[0].isEmpty, UInt64(parts[1], radix: 16) != nil,
            let count = Int32(parts[2]), count > 0
        else { return nil }
        token = "\(id)-\(parts[1])"
        self.count = Int(count)
    }

    package func name(isGzip: Bool) -> String { "\(token)-\(count)" + (isGzip ? Self.gzipEnding : Self.plainEnding) }

    /// How many of the first events of a batch are in a file of this name: all events of the file, or none.
    package func overlap(with batch: Batch) -> Int {
        guard count <= batch.events.count, let first = batch.events.first?.id?.description, token.hasPrefix(first),
            Batch(batch, 0..<count).deduplicationToken == token
        else { return 0 }
        return count
    }
}
