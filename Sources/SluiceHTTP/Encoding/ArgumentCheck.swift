import Sluice

/// Checks the arguments of a format. An error names the argument and doesn't contain it.
enum ArgumentCheck {
    /// Checks a key, a token or a password: visible ASCII characters only.
    static func key(_ name: StaticString, _ value: String?) throws(SluiceError) {
        try text(name, value)
        guard let value, value.utf8.contains(where: { !(0x21...0x7E).contains($0) }) else { return }
        throw invalid(name, "contains a space or a character beyond ASCII: pass the key only")
    }

    /// Checks a name, such as one of a table, a topic or a label: neither empty nor with control characters or a space at
    /// an end.
    static func text(_ name: StaticString, _ value: String?) throws(SluiceError) {
        guard let value else { return }
        let bytes = Array(value.utf8)
        guard let first = bytes.first, let last = bytes.last else { throw invalid(name, "is empty: pass a value") }
        if last == 0x0A || last == 0x0D { throw invalid(name, "ends with a newline, such as one from a file: trim it") }
        let hasControl = bytes.contains { $0 < 0x20 || $0 == 0x7F }
        if hasControl { throw invalid(name, "contains a control character: remove it") }
        if first == 0x20 || last == 0x20 { throw invalid(name, "begins or ends with a space: trim it") }
    }

    static func invalid(_ name: StaticString, _ problem: String) -> SluiceError {
        SluiceError(.invalidArgument, "the format's argument \(name) \(problem)")
    }
}
