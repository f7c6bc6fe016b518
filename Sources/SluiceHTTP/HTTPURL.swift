import Sluice

/// What this package demands of a URL, before any client sees it.
enum HTTPURL {
    /// - Throws: ``SluiceError/Code/invalidArgument``; the text never holds any of the URL, which may hold secrets.
    static func check(_ url: String) throws(SluiceError) {
        func wrong(_ what: String) -> SluiceError { SluiceError(.invalidArgument, "the URL \(what)") }

        guard !url.contains(" ") else { throw wrong("has a blank; leave it out, or percent-encode it as %20") }
        guard url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw wrong("has characters other than printable ASCII; percent-encode them")
        }
        // Some readers of URLs end the host there, and others do not: the events could go to another one than is read here.
        guard !url.contains("\\") else { throw wrong("has a backslash; percent-encode it") }
        let lower = url.lowercased()
        guard let scheme = ["https://", "http://"].first(where: { lower.hasPrefix($0) }) else {
            throw wrong("does not start with https:// or http://")
        }
        guard !url.contains("#") else { throw wrong("has a fragment, which is never sent; leave it out") }
        let authority = url.dropFirst(scheme.count).prefix { !"/?".contains($0) }
        guard !authority.contains("@") else {
            throw wrong("holds a user name; give credentials as headers instead")
        }
        let (host, port) = split(authority)
        guard isHost(host) else { throw wrong("has no host, or one that cannot be") }
        guard let port else { return }
        guard port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(port), number > 0 else {
            throw wrong("has a port that is none")
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
