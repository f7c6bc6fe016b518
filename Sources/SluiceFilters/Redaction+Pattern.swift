extension Redaction {
    /// A form of secret text. The time of a search is linear in the length of the text.
    ///
    /// Patterns match text the way people read it: full-width characters, digits of any script, and dashes match their ASCII
    /// forms, and percent-encoded ASCII matches the characters that it stands for. Invisible characters are ignored.
    public struct Pattern: Sendable {
        /// Returns the first match that begins at an offset or later.
        typealias Search = @Sendable (_ text: UnsafeBufferPointer<UInt8>, _ start: Int) -> Range<Int>?

        let mark: String
        let appliesToNumbers: Bool
        let search: Search

        /// E-mail addresses. A match becomes `[email]`.
        public static let email = Pattern(mark: "[email]", appliesToNumbers: false, search: EmailScanner.search)

        /// Payment cards. A match becomes `[card]`.
        ///
        /// A card number has 13 to 19 digits, with the prefix and the length of one of the large issuers and a correct
        /// check digit. Single spaces or hyphens can separate the digits. Two blanks, blanks beyond ASCII, and other marks, such
        /// as `.`, `/`, `+` and `·`, can separate the groups that are printed on cards, such as four groups of four. Commas,
        /// semicolons and `|` can't, because they separate the items of a list.
        public static let paymentCard = Pattern(mark: "[card]", appliesToNumbers: true, search: CardScanner.search)

        /// Phone numbers. A match becomes `[phone]`.
        ///
        /// A phone number has an international form (`+49 30 1234567`), the North American form (`(555) 123-4567`), or
        /// a leading zero and a gap (`030 1234567`, `03-1234-5678`). It can stand directly behind a letter beyond ASCII, such as
        /// one of Japanese, but not behind one of ASCII, as in an id. The gaps can be blanks beyond ASCII, such as
        /// no-break spaces. Digits that have neither a gap nor a `+` don't match, because too many other numbers look
        /// like that.
        public static let phone = Pattern(mark: "[phone]", appliesToNumbers: false, search: PhoneScanner.search)

        /// Returns the text with all matches replaced, or nil without a match.
        func replacing(in text: String) -> String? {
            var utf8 = text
            return utf8.withUTF8 { utf8 in
                let isPlain = utf8.allSatisfy { $0 != UInt8(ascii: "%") && !$0.isBeyondASCII }
                let (bytes, offsets) = isPlain ? ([], []) : Pattern.plain(text)
                return bytes.withUnsafeBufferPointer { plain in
                    func offset(_ position: Int) -> Int { isPlain ? position : offsets[position] }
                    var (result, end) = ([UInt8](), 0)
                    while let match = search(isPlain ? utf8 : plain, end) {
                        result += utf8[offset(end)..<offset(match.lowerBound)]
                        result += mark.utf8
                        end = match.upperBound
                    }
                    return end == 0 ? nil : String(decoding: result + utf8[offset(end)...], as: UTF8.self)
                }
            }
        }

        /// The text as people read it, and the offset of each byte in the original. Invisible characters are left out.
        private static func plain(_ text: String) -> (bytes: [UInt8], offsets: [Int]) {
            var (bytes, offsets, offset, rest) = ([UInt8](), [Int](), 0, text.unicodeScalars[...])
            while let first = rest.popFirst() {
                let code = first == "%" ? UInt8(String(rest.prefix(2)), radix: 16) ?? 0 : 0
                let isEscape = (0x20...0x7E).contains(code)
                let scalar = isEscape ? Unicode.Scalar(code) : first.narrow
                let seen = scalar.properties.isDefaultIgnorableCodePoint ? "" : String(scalar)
                bytes += seen.utf8
                offsets += repeatElement(offset, count: seen.utf8.count)
                if isEscape { rest.removeFirst(2) }
                offset += isEscape ? 3 : UTF8.width(first)
            }
            return (bytes, offsets + [offset])
        }
    }
}

extension UInt8 {
    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
    var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }
    /// Part of a character beyond ASCII.
    var isBeyondASCII: Bool { self >= 0x80 }
}
