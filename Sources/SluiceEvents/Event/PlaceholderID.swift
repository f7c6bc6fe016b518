/// The texts that programs write where an id is missing, such as `null`, `undefined`, `[object Object]` or zeros.
///
/// A receiver drops events with such an id, or takes all people who have it for one person. The lists are the ones of
/// receivers (Mixpanel's and PostHog's ids that are ignored), and the words that languages print for a missing value. Case and
/// punctuation don't count, but a text in parentheses is a placeholder as a whole: Google's reports have `(not set)`,
/// `(not provided)` and more of them. So is a template without its value, and what languages print for any object.
package enum PlaceholderID {
    /// The words for a missing value. A text that consists of them alone is a placeholder.
    private static let missing: [StaticString] = [
        "null", "nullptr", "nil", "none", "undefined", "nan", "inf", "dbnull",
    ]
    /// Words that are printed around one of them, or around nothing: `Some(None)`, `Optional("")`. Alone, each is an id.
    private static let enclosing: [StaticString] = ["object", "optional", "some", "urn", "uuid"]
    /// The beginnings and ends of placeholders with any text in them: of JavaScript, of templates, and Go's
    /// `%!s(<nil>)`.
    private static let templates: [(StaticString, StaticString)] = [
        ("[object ", "]"), ("{{", "}}"), ("${", "}"), ("%!", ")"),
    ]
    /// Further placeholders, without the punctuation in them.
    private static let others: [StaticString] = [
        "na", "notset", "unknown", "anonymous", "anon", "guest", "notauthenticated", "id", "distinctid", "email",
        "true",
        "false",
    ]
    /// Longer than any placeholder with letters.
    private static let maximumBytes = 64

    /// Whether a text is a placeholder, or has no visible characters.
    package static func matches(_ id: String) -> Bool {
        var id = id
        return id.withUTF8 { text in
            if isEnclosed(text, in: templates) { return true }
            if let digit = text.firstIndex(where: { (0x31...0x39).contains($0) }) {
                return text.count == 2 && digit == 1 && text[0] == UInt8(ascii: "-") && text[1] == UInt8(ascii: "1")
            }
            if text.contains(where: { $0 >= 0x80 }) {
                return visibleASCII(of: String(decoding: text, as: UTF8.self)).map(matches) ?? false
            }
            return isPlaceholder(text)
        }
    }

    /// The text without blanks beyond ASCII; nil if it has other characters beyond ASCII.
    private static func visibleASCII(of text: String) -> String? {
        let visible = text.unicodeScalars.filter { !$0.isBlank }
        return visible.allSatisfy(\.isASCII) ? String(String.UnicodeScalarView(visible)) : nil
    }

    private static func isPlaceholder(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard text.count <= maximumBytes else {
            return text.allSatisfy { $0 == UInt8(ascii: "0") || !isAlphanumeric($0) }
        }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: maximumBytes) { letters in
            var (end, wordStart) = (0, 0)
            var (isMissing, hasOnlySuch) = (text.isEmpty, true)
            for index in 0...text.count {
                if index < text.count, isAlphanumeric(text[index]) {
                    letters.initializeElement(at: end, to: text[index] | 0x20)
                    end += 1
                } else if wordStart < end {
                    let word = UnsafeBufferPointer(rebasing: letters[wordStart..<end])
                    // The digit zero, in lowercase like the letters.
                    let isMissingWord = word.allSatisfy { $0 == UInt8(ascii: "0") } || contains(missing, word)
                    isMissing = isMissing || isMissingWord
                    hasOnlySuch = hasOnlySuch && (isMissingWord || contains(enclosing, word))
                    wordStart = end
                }
            }
            if hasOnlySuch, isMissing || end < text.count { return true }
            // The null of SQL's exports.
            if text.elementsEqual("\\N".utf8) || isEnclosed(text, in: [("(", ")")]) { return true }
            return contains(others, UnsafeBufferPointer(rebasing: letters[..<end]))
        }
    }

    private static func isEnclosed(
        _ text: UnsafeBufferPointer<UInt8>, in marks: [(StaticString, StaticString)]
    ) -> Bool {
        guard let start = text.firstIndex(where: { $0 > 0x20 }), !isAlphanumeric(text[start]),
            let end = text.lastIndex(where: { $0 > 0x20 })
        else { return false }
        let visible = text[start...end]
        return marks.contains { open, close in
            open.withUTF8Buffer { visible.starts(with: $0) { ($0 == $1) || isAlphanumeric($0) && $0 | 0x20 == $1 } }
                && close.withUTF8Buffer { visible.suffix($0.count).elementsEqual($0) }
        }
    }

    private static func contains(_ list: [StaticString], _ word: UnsafeBufferPointer<UInt8>) -> Bool {
        list.contains { $0.utf8CodeUnitCount == word.count && $0.withUTF8Buffer { $0.elementsEqual(word) } }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
    }
}

extension String {
    /// Whether the text has no visible characters.
    package var isBlank: Bool {
        // Most texts begin with a visible ASCII character, and Unicode's tables are slow.
        if let first = utf8.first, (0x21...0x7E).contains(first) { return false }
        return unicodeScalars.allSatisfy(\.isBlank)
    }

    /// Whether both have the same UTF-8. Ids are compared by it, as receivers do: texts that look the same can be equal
    /// in Swift and have different bytes.
    package func hasBytes(of other: String?) -> Bool {
        guard let other, utf8.count == other.utf8.count, self == other else { return false }
        // Comparing each byte takes 30 times as long. ASCII is equal only if its bytes are.
        return isASCII || utf8.elementsEqual(other.utf8)
    }
}

extension Unicode.Scalar {
    fileprivate var isBlank: Bool {
        properties.isWhitespace || properties.generalCategory == .control || properties.generalCategory == .format
    }
}
