/// The texts that programs write where an id is missing, such as `null`, `undefined`, `[object Object]` or zeros.
///
/// A receiver drops events with such an id, or takes all people who have it for one person. The words are the ones of
/// receivers (Mixpanel's and PostHog's ids that are ignored), and the words that languages print for a missing value. Case and
/// punctuation don't count. A text in one pair of brackets is a placeholder as a whole, whatever is in it: a template without its
/// value such as `{{user_id}}`, a mark such as `[redacted]`, a printed object such as `<no value>`, and Google's `(not set)`.
package enum PlaceholderID {
    /// The words for a missing value. A text that consists of them alone is a placeholder.
    private static let missing: [StaticString] = [
        "null", "nullptr", "nil", "none", "nothing", "undefined", "unset", "empty", "absent", "nan", "inf", "dbnull",
    ]
    /// Words that are printed around one of them, or before nothing: `Some(None)`, `Optional("")`. Alone, each is an id.
    private static let enclosing: [StaticString] = ["object", "optional", "some", "urn", "uuid"]
    /// Further placeholders, without the punctuation in them.
    private static let others: [StaticString] = [
        "na", "notset", "unknown", "anonymous", "anonymoususer", "anon", "guest", "notauthenticated", "id",
        "distinctid", "email", "true", "false",
    ]
    /// Longer than any placeholder with letters.
    private static let maximumBytes = 64

    /// Whether a text is a placeholder, or has no letter, no number and no symbol beyond ASCII such as an emoji.
    package static func matches(_ id: String) -> Bool {
        var id = id
        if let answer = id.withUTF8({ answer($0) }) { return answer }
        id = plain(id)
        return id.withUTF8 { answer($0) } ?? false
    }

    /// Returns nil if it depends on characters beyond ASCII.
    private static func answer(_ text: UnsafeBufferPointer<UInt8>) -> Bool? {
        let number = text.firstIndex { (0x31...0x39).contains($0) }
        if let first = text.first, !isAlphanumeric(first) {
            if isTemplate(text, hasNumber: number != nil) { return true }
            // A character beyond ASCII before a number can be a minus.
            if let number, text[number - 1] >= 0x80 { return nil }
        }
        let isNumber = isZeroOrMinusOne(text, number ?? text.count)
        if number != nil, !isNumber { return false }
        if text.contains(where: { $0 >= 0x80 }) { return nil }
        return isNumber || isPlaceholder(text)
    }

    /// Whether a text is 0 or -1 with a sign, such as -1.0 or `0E-10`, with any punctuation around it. `number` is the index of
    /// its first digit from 1 to 9, or of its end.
    private static func isZeroOrMinusOne(_ text: UnsafeBufferPointer<UInt8>, _ number: Int) -> Bool {
        // Most ids begin otherwise, or have no sign there. Parsing takes as long as all other checks.
        guard let start = text.firstIndex(where: isAlphanumeric), start == number || text[start] == UInt8(ascii: "0"),
            let sign = text[..<number].last(where: { $0 != UInt8(ascii: "0") }), "+-".utf8.contains(sign),
            let end = text.lastIndex(where: isAlphanumeric)
        else { return false }
        let first = text[..<start].last == UInt8(ascii: "-") ? start - 1 : start
        return [0, -1].contains(Double(String(decoding: text[first...end], as: UTF8.self)))
    }

    /// Whether one pair of brackets encloses a text, except for at most two marks before it and one character of a template
    /// with `%` behind it: `${name}`, `%(name)s`. Or a text is `%s`, `%!s(<nil>)` or `\N`, the null of SQL's exports.
    ///
    /// With a number in it, one pair of `()` or `{}` is around an id, because Windows writes GUIDs so.
    private static func isTemplate(_ text: UnsafeBufferPointer<UInt8>, hasNumber: Bool) -> Bool {
        guard let start = text.firstIndex(where: { $0 > 0x20 }), let end = text.lastIndex(where: { $0 > 0x20 }),
            start < end
        else { return false }
        let (first, second, isPercent) = (text[start], text[start + 1], text[start] == UInt8(ascii: "%"))
        if text[start...end].elementsEqual("\\N".utf8) || isPercent && end == start + 1 && isLetter(second) {
            return true
        }
        if isPercent, second == UInt8(ascii: "!"), text[end] == UInt8(ascii: ")") { return true }
        let open = text[start...end].prefix(3).firstIndex {
            $0 >= 0x80 || isAlphanumeric($0) || "([{<".utf8.contains($0)
        }
        guard let open, let close = closing(text, open), close == end || isPercent && close == end - 1 else {
            return false
        }
        return !hasNumber || !"({".utf8.contains(first) || !isAlphanumeric(second)
    }

    /// The index of the bracket that closes the one at an index. Nil without such a pair.
    private static func closing(_ text: UnsafeBufferPointer<UInt8>, _ open: Int) -> Int? {
        guard let kind = "([{<".utf8.firstIndex(of: text[open]) else { return nil }
        let (bracket, closing) = (text[open], ")]}>".utf8[kind])
        var depth = 0
        return text[open...].indices.first {
            depth += text[$0] == bracket ? 1 : text[$0] == closing ? -1 : 0
            return depth == 0
        }
    }

    /// The text in ASCII, as far as it has a form there: full-width characters, brackets, and the digits of all scripts. Other
    /// punctuation becomes a blank, and invisible characters are left out.
    private static func plain(_ text: String) -> String {
        var plain = String.UnicodeScalarView()
        for scalar in text.unicodeScalars.lazy.map(\.narrow) {
            let properties = scalar.properties
            // A mark is a part of its letter.
            let isMark = properties.isGraphemeExtend && plain.last?.properties.isAlphabetic == true
            switch properties.generalCategory {
            case _ where scalar.isASCII: plain.append(scalar)
            case _ where scalar.isBlank && !properties.isWhitespace: break
            case .openPunctuation: plain.append("(")
            case .closePunctuation: plain.append(")")
            case .otherNumber, .mathSymbol, .currencySymbol, .otherSymbol,
                _ where properties.isAlphabetic || isMark:
                plain.append(scalar)
            default: plain.append(" ")
            }
        }
        return String(plain)
    }

    private static func isPlaceholder(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard text.count <= maximumBytes else { return isZero(text) }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: maximumBytes) { letters in
            var (end, wordStart) = (0, 0)
            var (isMissing, hasOnlySuch) = (text.isEmpty, true)
            for index in 0...text.count {
                if index < text.count, isAlphanumeric(text[index]) {
                    letters.initializeElement(at: end, to: text[index] | 0x20)
                    end += 1
                } else if wordStart < end {
                    let word = UnsafeBufferPointer(rebasing: letters[wordStart..<end])
                    let isMissingWord = isZero(word) || contains(missing, word)
                    isMissing = isMissing || isMissingWord
                    hasOnlySuch = hasOnlySuch && (isMissingWord || contains(enclosing, word))
                    wordStart = end
                }
            }
            return hasOnlySuch && (isMissing || text.last.map { !isAlphanumeric($0) } ?? true)
                || contains(others, UnsafeBufferPointer(rebasing: letters[..<end]))
        }
    }

    /// Whether a text has no digits and letters but zeros, such as `0-0` or `0x00`.
    private static func isZero(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        text.indices.allSatisfy { index in
            text[index] == UInt8(ascii: "0") || !isAlphanumeric(text[index])
                || index == 1 && text[0] == UInt8(ascii: "0") && text[1] | 0x20 == UInt8(ascii: "x")
        }
    }

    private static func contains(_ list: [StaticString], _ word: UnsafeBufferPointer<UInt8>) -> Bool {
        list.contains { $0.utf8CodeUnitCount == word.count && $0.withUTF8Buffer { $0.elementsEqual(word) } }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || isLetter(byte)
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
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
    /// Whether nothing shows it, such as a space, a control character, a variation selector or a filler of Hangul.
    package var isBlank: Bool {
        properties.isWhitespace || properties.isDefaultIgnorableCodePoint || properties.generalCategory == .control
    }
}
