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
    /// Whether a campaign parameter occurred more than once, or its text was invalid.
    private(set) var isRepaired = false

    /// Reads a URL.
    ///
    /// - Parameters:
    ///   - url: Any text.
    ///   - secrets: The names of parameters whose values are replaced.
    init(_ url: String, secrets: SecretNames) {
        let read = url.truncated(toBytes: LinkAddress.maximumBytes)
        isTruncated = read.utf8.count < url.utf8.count
        var bytes = Array(read.utf8)[...]
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        bytes = copyAuthority(of: bytes, to: &output)
        readParameters(of: bytes, secrets, to: &output)
        text = String(decoding: output, as: UTF8.self)
    }

    /// Copies everything before the path, except for the user and the password.
    ///
    /// - Returns: The rest of the URL.
    private func copyAuthority(of bytes: ArraySlice<UInt8>, to output: inout [UInt8]) -> ArraySlice<UInt8> {
        let marks = [UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#")]
        let mark = bytes.firstIndex { marks.contains($0) } ?? bytes.endIndex
        let scheme = bytes[..<mark].firstIndex(of: UInt8(ascii: ":")).map { $0 + 1 }
        let slashes = bytes[(scheme ?? mark)...].prefix { $0 == UInt8(ascii: "/") }
        guard scheme != nil || slashes.count > 1 else { return bytes }
        let start = slashes.endIndex
        let end = bytes[start...].firstIndex { marks.contains($0) }
        let authority = bytes[start..<(end ?? bytes.endIndex)]
        let host = authority.lastIndex(of: UInt8(ascii: "@")).map { $0 + 1 } ?? start
        // After a long password, the host may begin beyond the limit.
        let isCut = end == nil && isTruncated
        // Browsers accept fewer slashes. In an address such as `mailto:a@b.example`, the part is no user with a password.
        guard slashes.count > 1 || (isCut ? authority : authority[..<host]).contains(UInt8(ascii: ":")) else {
            return bytes
        }
        output += bytes[..<start]
        if isCut { return [] }
        output += authority[host...]
        return bytes[(end ?? bytes.endIndex)...]
    }

    /// Copies the path, and the parameters of the path, the query and the fragment. Reads the campaign from the query.
    private mutating func readParameters(
        of bytes: ArraySlice<UInt8>, _ secrets: SecretNames, to output: inout [UInt8]
    ) {
        var rest = bytes
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
            readParameter(part, secrets, isCampaign: isQuery && !isFragment && isWhole, to: &output)
            guard let end else { return }
            output.append(rest[end])
            if rest[end] == UInt8(ascii: "#") { isFragment = true }
            if rest[end] == UInt8(ascii: "?") { isQuery = true }
            rest = rest[(end + 1)...]
        }
    }

    private mutating func readParameter(
        _ part: ArraySlice<UInt8>, _ secrets: SecretNames, isCampaign: Bool, to output: inout [UInt8]
    ) {
        // Without an equals sign, it is a value without a name.
        let start = part.firstIndex(of: UInt8(ascii: "=")).map { $0 + 1 } ?? part.startIndex
        let name = LinkAddress.decoded(part[..<start].dropLast()).text
        if secrets.contains(name) || LinkAddress.hasSecret(part[start...], secrets) {
            output += part[..<start]
            output += "[redacted]".utf8
            return
        }
        output += part
        guard isCampaign, LinkAddress.campaignNames.contains(name), start < part.endIndex else { return }
        guard campaign[name] == nil else {
            isRepaired = true
            return
        }
        var (value, isValid) = LinkAddress.decoded(part[start...])
        if !isValid { isRepaired = true }
        if value.utf8.count > LinkAddress.maximumValueBytes {
            value = value.truncated(toBytes: LinkAddress.maximumValueBytes)
            isTruncated = true
        }
        campaign[name] = value
    }

    /// Whether a value has a secret in it, such as a link with a parameter `token` or with a password, or JSON.
    ///
    /// The value may be encoded up to three times, because a link in a link is encoded once more.
    private static func hasSecret(_ value: ArraySlice<UInt8>, _ secrets: SecretNames) -> Bool {
        var bytes = value
        for _ in 0..<3 {
            let text = decoded(bytes).text
            if isSecretAssigned(in: text, secrets) { return true }
            if text.utf8.elementsEqual(bytes) { return false }
            bytes = Array(text.utf8)[...]
        }
        return false
    }

    /// Whether the name of a secret stands before a sign. All words since the last sign or bracket are the name.
    private static func isSecretAssigned(in text: String, _ secrets: SecretNames) -> Bool {
        var name = String.UnicodeScalarView()
        var (isQuoted, isAuthority) = (false, false)
        var previous: Unicode.Scalar?
        for scalar in text.unicodeScalars.lazy.map(\.plain) {
            defer { previous = scalar }
            switch scalar {
            case " ":
                isAuthority = false
                name.append(scalar)
                continue
            case "=", ":",
                "," where isQuoted:
                if secrets.contains(String(name)) { return true }
                name = .init()
            case "@" where isAuthority: return true
            case "/":
                isAuthority = previous == "/"
                name = .init()
            case "?", "#":
                isAuthority = false
                name = .init()
            case ";", "&", ",", "{", "}", "<", ">", "|": name = .init()
            case "\"", "'": break
            default: name.append(scalar)
            }
            isQuoted = scalar == "\"" || scalar == "'"
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
