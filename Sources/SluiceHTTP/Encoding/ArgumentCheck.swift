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

    /// Checks a text, such as the name of a table or the value of a label: see `String.flaw`.
    package static func text(_ name: StaticString, _ value: String?) throws(SluiceError) {
        if let flaw = value?.flaw { throw invalid(name, flaw) }
    }

    /// Checks the region and the keys of a signature for AWS. Without both keys, the host signs.
    static func aws(
        region: String, _ accessKey: String?, _ secretKey: String?, sessionToken: String? = nil
    ) throws(SluiceError) {
        try name("region", region, "-")
        // A part of a host's name.
        guard [region.utf8.first, region.utf8.last].allSatisfy({ $0?.isLetterOrDigit == true }) else {
            throw invalid("region", "isn't a region: pass its code, such as us-east-1")
        }
        try key("accessKey", accessKey)
        try key("secretKey", secretKey)
        try key("sessionToken", sessionToken)
        guard (accessKey == nil) != (secretKey == nil) else { return }
        throw invalid(accessKey == nil ? "accessKey" : "secretKey", "is missing: pass both keys")
    }

    package static func invalid(_ name: StaticString, _ problem: String) -> SluiceError {
        SluiceError(.invalidArgument, "the argument \(name) \(problem)")
    }
}
