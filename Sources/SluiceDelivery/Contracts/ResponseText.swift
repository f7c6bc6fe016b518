/// The receiver's own words. They can contain secrets, so they are never printed, and two verdicts are equal whatever the
/// words.
struct ResponseText: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    let text: String?

    init(_ text: String?) { self.text = text }

    static func == (one: ResponseText, other: ResponseText) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
    var description: String { text == nil ? "nil" : "some text" }
    var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }

    /// At most 1,024 bytes, without control characters; nil if nothing is left.
    var cleaned: ResponseText {
        guard let text else { return self }
        var bytes = 0
        let first = text.unicodeScalars.prefix { scalar in
            bytes += UTF8.width(scalar)
            return bytes <= 1_024
        }
        var result = String(first).oneLine
        while result.last == " " { result.removeLast() }
        return ResponseText(result.isBlank ? nil : result)
    }
}
