/// The rule for the ids of people and groups, which holds wherever one can be set.
package enum UserID {
    /// The longest id, in Unicode scalars: the limit of most backends.
    package static let maximumLength = 255

    /// Whether receivers can use an id: it isn't too long, has no NUL, which many of them refuse, and is no placeholder.
    package static func isValid(_ id: String) -> Bool {
        fits(id) && !hasNUL(id) && !PlaceholderID.matches(id)
    }

    package static func hasNUL(_ id: String) -> Bool {
        var id = id
        // Looking at each byte would take 1,000 instructions for a UUID instead of 200.
        return id.withUTF8 { JSONEscaping.plainLength(of: UnsafeRawBufferPointer($0)) < $0.count && $0.contains(0) }
    }

    /// Whether an id isn't too long.
    package static func fits(_ id: String) -> Bool {
        // Bytes first: counting the characters of 100 MB would take a while. Most ids have few bytes and need no count.
        id.utf8.count <= maximumLength
            || id.utf8.count <= 4 * maximumLength && id.unicodeScalars.count <= maximumLength
    }
}
