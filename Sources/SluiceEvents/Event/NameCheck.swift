extension SluiceError {
    /// Checks names that a plugin takes and compares with others. One with a flaw is hardly meant, and a filter would do
    /// nothing without a word.
    ///
    /// - Parameters:
    ///   - names: The names.
    ///   - argument: The argument that has them, for the message.
    ///   - prefixes: Whether a `*` at the end makes a prefix. Any other `*` would only match itself.
    /// - Throws: ``Code/invalidArgument`` with the argument and the flaw, without the name.
    package static func require(names: some Sequence<String>, of argument: StaticString, prefixes: Bool = false)
        throws(SluiceError)
    {
        let star = "has a * that stands for no other text here: write whole names"
        let flaws = names.compactMap { $0.flaw ?? ($0.dropLast(prefixes ? 1 : 0).contains("*") ? star : nil) }
        guard let flaw = flaws.first else { return }
        throw SluiceError(.invalidArgument, "the argument \(argument) has a name that \(flaw)")
    }
}

extension String {
    /// The flaw of a text that a host passes as a name or a key, and how to mend it: it is blank, contains a control
    /// character or a newline, or has a space or an invisible character at an end.
    package var flaw: String? {
        // Each header of each request is such a text, and Unicode's tables take 900 instructions for a letter.
        let isPrintable = utf8.allSatisfy { 0x20...0x7E ~= $0 }
        if isPrintable, let first = utf8.first, first > 0x20, utf8.last != 0x20 { return nil }
        guard !isBlank, let first = unicodeScalars.first, let last = unicodeScalars.last else {
            return "is empty or blank: pass a value"
        }
        if last == "\n" || last == "\r" { return "ends with a newline, such as one from a file: trim it" }
        let ends = [first, last]
        if ends.contains(where: \.properties.isWhitespace) { return "begins or ends with a space: trim it" }
        if ends.contains(where: \.isUnseen) { return "begins or ends with an invisible character: remove it" }
        return unicodeScalars.contains(where: \.isControl) ? "contains a control character: remove it" : nil
    }

    /// The text in one line, such as for a log: control characters and newlines are spaces.
    package var oneLine: String {
        if utf8.allSatisfy({ 0x20...0x7E ~= $0 }) { return self }
        return String(String.UnicodeScalarView(unicodeScalars.map { $0.isControl ? " " : $0 }))
    }
}

private extension Unicode.Scalar {
    /// Whether nothing shows it at an end, such as a byte order mark or a filler. Emoji end with a selector of their form, and
    /// some flags with the end of a tag.
    var isUnseen: Bool {
        properties.isDefaultIgnorableCodePoint && !properties.isVariationSelector && value != 0xE007F
    }

    /// Whether it is a control character or a newline.
    var isControl: Bool { [.control, .lineSeparator, .paragraphSeparator].contains(properties.generalCategory) }
}
