import Sluice

/// The URLs that this package accepts, before a client sees them.
enum HTTPURL {
    /// - Throws: An error whose text doesn't contain the URL, which may contain secrets.
    static func check(_ url: String) throws(SluiceError) {
        func invalid(_ reason: String) -> SluiceError { SluiceError(.invalidArgument, "the URL \(reason)") }

        guard !url.contains(" ") else { throw invalid("contains a space; remove it or percent-encode it as %20") }
        guard url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw invalid("contains characters other than printable ASCII; percent-encode them")
        }
        // Parsers disagree on whether the host ends there: the events could go to a host other than the one checked here.
        guard !url.contains("\\") else { throw invalid("contains a backslash; percent-encode it") }
        let lower = url.lowercased()
        guard let scheme = ["https://", "http://"].first(where: { lower.hasPrefix($0) }) else {
            throw invalid("does not start with https:// or http://")
        }
        guard !url.contains("#") else { throw invalid("contains a fragment, which is never sent; remove it") }
        let authority = url.dropFirst(scheme.count).prefix { !"/?".contains($0) }
        guard !authority.contains("@") else {
            throw invalid("contains a user name; pass credentials as headers instead")
        }
        let (host, port) = split(authority)
        guard isHost(host) else { throw invalid("has no valid host") }
        guard let port else { return }
        guard port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(port), number > 0 else {
            throw invalid("has an invalid port")
        }
    }

    private static func split(_ authority: Substring) -> (host: Substring, port: Substring?) {
        let afterAddress = authority.lastIndex(of: "]") ?? authority.startIndex
        guard let colon = authority[afterAddress...].firstIndex(of: ":") else { return (authority, nil) }
        return (authority[..<colon], authority[authority.index(after: colon)...])
    }

    private static func isHost(_ host: Substring) -> Bool {
        if host.hasPrefix("[") {
            return host.hasSuffix("]") && host.count > 3
                && host.dropFirst().dropLast().allSatisfy { $0.isHexDigit || ":.".contains($0) }
        }
        return host.contains { $0.isLetter || $0.isNumber }
            && host.allSatisfy { $0.isLetter || $0.isNumber || "-._~".contains($0) }
    }
}
