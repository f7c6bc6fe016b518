import Sluice

/// Checks the arguments of a format. An error names the argument and doesn't contain it.
package enum ArgumentCheck {
    /// Checks a key, a token or a password: visible ASCII characters only.
    package static func key(_ name: StaticString, _ value: String?) throws(SluiceError) {
        try text(name, value)
        guard let value, value.utf8.contains(where: { !(0x21...0x7E).contains($0) }) else { return }
        throw invalid(name, "contains a space or a character beyond ASCII: pass the key only")
    }

    /// Checks a name that the backend restricts, such as one of a topic: letters and digits of ASCII, and `others`.
    package static func name(
        _ name: StaticString, _ value: String?, _ others: StaticString = "._-", limit: Int = .max
    ) throws(SluiceError) {
        try key(name, value)
        guard let value else { return }
        let isAllowed = value.utf8.allSatisfy { $0.isLetterOrDigit || "\(others)".utf8.contains($0) }
        guard isAllowed, value.utf8.count <= limit, value != ".", value != ".." else {
            throw invalid(name, "isn't a name that the backend accepts: use letters, digits and \(others)")
        }
    }

    /// Checks a text that is the user of Basic authentication, which ends at the first colon (RFC 7617).
    package static func user(_ name: StaticString, _ value: String?) throws(SluiceError) {
        try text(name, value)
        guard let value, value.utf8.contains(UInt8(ascii: ":")) else { return }
        throw invalid(name, "contains a colon, which Basic authentication doesn't allow: pass the user only")
    }

    /// Checks a text, such as the name of a table or the value of a label: not blank, with blanks between other characters
    /// only, and without characters that nothing shows.
    package static func text(_ name: StaticString, _ value: String?) throws(SluiceError) {
        guard let value else { return }
        let characters = value.unicodeScalars
        guard characters.contains(where: \.isVisible), let first = characters.first,
            let last = characters.last
        else { throw invalid(name, "is empty or blank: pass a value") }
        if last == "\n" || last == "\r" { throw invalid(name, "ends with a newline, such as one from a file: trim it") }
        if first.properties.isWhitespace || last.properties.isWhitespace {
            throw invalid(name, "begins or ends with a space: trim it")
        }
        if characters.contains(where: \.isInvisible) {
            throw invalid(name, "contains a control character or an invisible one: remove it")
        }
    }

    /// Checks what a signature for AWS needs. Without both keys, the host signs.
    static func aws(region: String, _ accessKey: String?, _ secretKey: String?) throws(SluiceError) {
        try name("region", region, "-")
        try key("accessKey", accessKey)
        try key("secretKey", secretKey)
        guard (accessKey == nil) != (secretKey == nil) else { return }
        throw invalid(accessKey == nil ? "accessKey" : "secretKey", "is missing: pass both keys")
    }

    package static func invalid(_ name: StaticString, _ problem: String) -> SluiceError {
        SluiceError(.invalidArgument, "the format's argument \(name) \(problem)")
    }
}

extension Unicode.Scalar {
    fileprivate var isVisible: Bool {
        !properties.isWhitespace && !isInvisible && properties.generalCategory != .format
    }

    /// Whether it is a control character, or nothing shows it: `U+0000`, a line separator, a byte order mark. Joiners of
    /// visible characters are not among them.
    fileprivate var isInvisible: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        case .format: self != "\u{200C}" && self != "\u{200D}"
        default: false
        }
    }
}
