import Sluice

/// A URL as ``Links`` reads it: the campaign in its query, and the text without secrets.
///
/// It accepts any text, and reads it once, from the beginning to ``maximumBytes``.
struct LinkAddress {
    /// The longest part of a URL that is read. Common servers refuse longer request lines with the status 414.
    static let maximumBytes = 8_192
    /// The longest value of a campaign parameter, in bytes of UTF-8.
    static let maximumValueBytes = 1_024

    /// The parameters that describe a campaign: UTM, and the click ids of advertising networks.
    static let campaignNames: Set<String> = [
        "utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", "gclid", "gbraid", "wbraid", "dclid",
        "fbclid", "msclkid", "ttclid", "twclid", "li_fat_id",
    ]

    /// The URL without a user, a password and the values of secret parameters. A value that has one of these in it is left out
    /// too.
    private(set) var text = ""
    /// The decoded campaign parameters. Empty ones are left out.
    private(set) var campaign: [String: String] = [:]
    /// Whether the URL or a value was longer than its limit.
    private(set) var isTruncated = false
    /// Whether a campaign parameter occurred more than once, its text was invalid, or it had a secret in it.
    private(set) var isRepaired = false
    private let secrets: SecretNames
    private let colonSecrets: SecretNames

    /// Reads a URL.
    ///
    /// - Parameters:
    ///   - url: Any text.
    ///   - secrets: The names of parameters whose values are replaced.
    ///   - colonSecrets: The names that are secret before a colon in plain text, too. By default, all of them.
    init(_ url: String, secrets: SecretNames, colonSecrets: SecretNames? = nil) {
        (self.secrets, self.colonSecrets) = (secrets, colonSecrets ?? secrets)
        let read = url.truncated(toBytes: LinkAddress.maximumBytes)
        isTruncated = read.utf8.count < url.utf8.count
        let bytes = Array(read.utf8)
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        // The path may have another link in it.
        var path = bytes.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        let rest = bytes[path.endIndex...]
        var withoutUsers: [UInt8] = []
        while let user = LinkAddress.user(in: path, isCut: isTruncated && rest.isEmpty) {
            withoutUsers += path[..<user.lowerBound]
            path = path[user.upperBound...]
        }
        readParameters(of: withoutUsers + path + rest, to: &output)
        text = String(decoding: output, as: UTF8.self)
    }

    /// Where the first user of an address stands, with the password and the `@`: after two slashes, or with a password
    /// after a scheme, because browsers accept fewer slashes. In `mailto:a@b.example`, there is no user with a password.
    ///
    /// - Parameters:
    ///   - text: A link, or a text with a link in it.
    ///   - isCut: Whether the text goes on. After a long password, the host may begin beyond the limit.
    /// - Returns: Its indices; nil without a user.
    private static func user(in text: ArraySlice<UInt8>, isCut: Bool = false) -> Range<Int>? {
        guard isCut || text.contains(UInt8(ascii: "@")) else { return nil }
        let scheme = text.drop { $0 <= 0x20 }.prefix { (0x61...0x7A).contains($0 | 0x20) || "+-.".utf8.contains($0) }
        var isAddress = text[scheme.endIndex...].first == UInt8(ascii: ":")
        var start = isAddress ? scheme.endIndex + 1 : text.startIndex
        var isUser = false
        var end: Int?
        for index in text.startIndex...text.endIndex where index >= start {
            let byte = index < text.endIndex ? text[index] : UInt8(ascii: isCut ? "@" : "#")
            let isSlash = "/\\".utf8.contains(byte)
            let previous = text[..<index].last ?? 0
            switch byte {
            case _ where isSlash && index == start: (start, isUser) = (index + 1, "/\\".utf8.contains(previous))
            // A password may have a backslash.
            case _ where "/?#".utf8.contains(byte) || isSlash && !isAddress && !isUser:
                if let end { return start..<end }
                (start, isAddress, isUser) = (index + 1, isSlash && previous == UInt8(ascii: ":"), false)
            case UInt8(ascii: ":") where isAddress: isUser = true
            case UInt8(ascii: "@") where isUser && index > start: end = min(index + 1, text.endIndex)
            default: break
            }
        }
        return end.map { start..<$0 }
    }

    /// Copies the path, and the parameters of the path, the query and the fragment. Reads the campaign from the query.
    private mutating func readParameters(of bytes: [UInt8], to output: inout [UInt8]) {
        var rest = bytes[...]
        var isQuery = false
        var isFragment = false
        while !rest.isEmpty {
            let end = rest.firstIndex { byte in
                switch byte {
                case UInt8(ascii: "#"): true
                case UInt8(ascii: "?"): !isQuery || isFragment
                case UInt8(ascii: "&"): isQuery || isFragment
                case UInt8(ascii: "/"), UInt8(ascii: ";"): !isQuery && !isFragment
                default: false
                }
            }
            let part = rest[..<(end ?? rest.endIndex)]
            // A value at the end of a truncated URL may be incomplete.
            let isWhole = end != nil || !isTruncated
            readParameter(part, isCampaign: isQuery && !isFragment && isWhole, isCut: !isWhole, to: &output)
            guard let end else { return }
            output.append(rest[end])
            if rest[end] == UInt8(ascii: "#") { isFragment = true }
            if rest[end] == UInt8(ascii: "?") { isQuery = true }
            rest = rest[(end + 1)...]
        }
    }

    private mutating func readParameter(
        _ part: ArraySlice<UInt8>, isCampaign: Bool, isCut: Bool, to output: inout [UInt8]
    ) {
        var start = part.firstIndex(of: UInt8(ascii: "=")).map { $0 + 1 } ?? part.startIndex
        var name = LinkAddress.decoded(part[..<start].dropLast()).text
        let isSecretName = LinkAddress.hasSecret(part[..<start].dropLast(), secrets.contains)
        // Without an equals sign, or with that of a link, it is a value without a name.
        if name.utf8.contains(UInt8(ascii: "/")) { (start, name) = (part.startIndex, "") }
        // An escape in a password may stand for a slash.
        let isSecret =
            isSecretName || LinkAddress.user(in: part[start...], isCut: isCut) != nil
            || LinkAddress.hasSecret(part[start...]) { isSecretAssigned(in: $0, isCut: isCut) }
        output += isSecret ? part[..<start] + "[redacted]".utf8 : part
        guard isCampaign, !isSecretName, LinkAddress.campaignNames.contains(name), start < part.endIndex else { return }
        guard campaign[name] == nil else {
            isRepaired = true
            return
        }
        // A campaign with a secret is a new one too: the former one must not stay.
        var (value, isValid) = isSecret ? ("[redacted]", false) : LinkAddress.decoded(part[start...])
        if !isValid { isRepaired = true }
        if value.utf8.count > LinkAddress.maximumValueBytes {
            value = value.truncated(toBytes: LinkAddress.maximumValueBytes)
            isTruncated = true
        }
        campaign[name] = value
    }

    /// Whether a name or a value has a secret in it, such as a link with a parameter `token` or with a password, or
    /// JSON.
    ///
    /// It may be encoded up to three times, because a link in a link is encoded once more. JSON has escapes of its own.
    private static func hasSecret(_ encoded: ArraySlice<UInt8>, _ isSecret: (String) -> Bool) -> Bool {
        var bytes = encoded
        for _ in 0..<3 {
            let text = decoded(bytes).text
            if isSecret(text) { return true }
            var next = Array(text.utf8)
            for escape in next.indices.reversed()
            where next[escape] == UInt8(ascii: "\\") && next[escape...].starts(with: "\\u00".utf8) {
                next.replaceSubrange(escape..<escape + 4, with: "%".utf8)
            }
            if next.elementsEqual(bytes) { return false }
            bytes = next[...]
        }
        return false
    }

    /// Whether there is a user, or the name of a secret before a sign. All words since the last sign or bracket are the
    /// name.
    private func isSecretAssigned(in text: String, isCut: Bool) -> Bool {
        if LinkAddress.user(in: Array(text.utf8)[...], isCut: isCut) != nil { return true }
        var name = String.UnicodeScalarView()
        var isQuoted = false
        for scalar in text.unicodeScalars.lazy.map(\.plain) {
            switch scalar {
            case "=", ":",
                "," where isQuoted:
                // In plain text, everyday words such as `code` and `state` stand before a colon.
                if (scalar == ":" && !isQuoted ? colonSecrets : secrets).contains(String(name)) { return true }
                name = .init()
            case "/", "?", "#", ";", "&", ",", "{", "}", "<", ">", "|": name = .init()
            case "\"", "'": break
            default: name.append(scalar)
            }
            if scalar != " " { isQuoted = scalar == "\"" || scalar == "'" }
        }
        return false
    }

    /// Decodes a name or a value of a query. `%20` and `+` are blanks.
    ///
    /// - Returns: The text, and whether it was valid. An incomplete escape stays unchanged, and bytes that are not
    ///   UTF-8 become U+FFFD.
    static func decoded(_ bytes: ArraySlice<UInt8>) -> (text: String, isValid: Bool) {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var isValid = true
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            if byte == UInt8(ascii: "%"), index + 2 < bytes.endIndex, let high = hexadecimalDigit(bytes[index + 1]),
                let low = hexadecimalDigit(bytes[index + 2])
            {
                result.append(high << 4 | low)
                index += 3
            } else {
                isValid = isValid && byte != UInt8(ascii: "%")
                result.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
                index += 1
            }
        }
        let text = String(decoding: result, as: UTF8.self)
        return (text, isValid && text.utf8.elementsEqual(result))
    }
}

extension Unicode.Scalar {
    /// A space for any blank, and the ASCII character for one in full width.
    fileprivate var plain: Unicode.Scalar { properties.isWhitespace ? " " : narrow }
}
