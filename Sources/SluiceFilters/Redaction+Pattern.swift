extension Redaction {
    /// A form of secret text. The scanners read UTF-8, in time that is linear in the length of the text.
    public struct Pattern: Sendable {
        /// Returns the first match that begins at an offset or later.
        typealias Search = @Sendable (_ text: UnsafeBufferPointer<UInt8>, _ start: Int) -> Range<Int>?

        let mark: String
        let appliesToNumbers: Bool
        let search: Search

        /// E-mail addresses, also with a percent-encoded at sign. A match becomes `[email]`.
        public static let email = Pattern(mark: "[email]", appliesToNumbers: false, search: EmailScanner.search)

        /// Payment cards. A match becomes `[card]`.
        ///
        /// A card number has 13 to 19 digits, with the prefix and the length of one of the large issuers and a correct
        /// check digit. Single spaces or hyphens can separate the digits. Dots, two blanks, and blanks beyond ASCII can
        /// separate the groups that are printed on cards, such as four groups of four.
        public static let paymentCard = Pattern(mark: "[card]", appliesToNumbers: true, search: CardScanner.search)

        /// Phone numbers. A match becomes `[phone]`.
        ///
        /// A phone number has an international form (`+49 30 1234567`), the North American form (`(555) 123-4567`), or
        /// a leading zero and a gap (`030 1234567`, `01.23.45.67.89`). The gaps can be blanks beyond ASCII, such as
        /// no-break spaces. Digits that have neither a gap nor a `+` don't match, because too many other numbers look
        /// like that.
        public static let phone = Pattern(mark: "[phone]", appliesToNumbers: false, search: PhoneScanner.search)

        /// Returns the text with all matches replaced, or nil without a match.
        func replacing(in text: String) -> String? {
            var text = text
            return text.withUTF8 { utf8 in
                var result: [UInt8] = []
                var copied = 0
                while let match = search(utf8, copied) {
                    result += utf8[copied..<match.lowerBound]
                    result += mark.utf8
                    copied = match.upperBound
                }
                if copied == 0 { return nil }
                result += utf8[copied...]
                return String(decoding: result, as: UTF8.self)
            }
        }
    }
}

extension UInt8 {
    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
    var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }
    /// Part of a character beyond ASCII.
    var isBeyondASCII: Bool { self >= 0x80 }
}
