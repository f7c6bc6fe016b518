import Sluice

/// The rules for URLs. They are checked before a client sees a URL.
enum HTTPURL {
    /// Throws an error without the URL in its text, because a URL may contain secrets.
    static func check(_ url: String) throws(SluiceError) {
        func invalid(_ reason: String) -> SluiceError { SluiceError(.invalidArgument, "the URL \(reason)") }

        // An array, because a string's bytes are slow to read one by one, and this is checked for each request.
        let bytes = Array(url.utf8)
        for byte in bytes {
            switch byte {
            case UInt8(ascii: " "): throw invalid("contains a space; remove it or percent-encode it as %20")
            // Parsers disagree on whether the host ends there, so the events could be sent to another host than the one
            // that is checked here.
            case UInt8(ascii: "\\"): throw invalid("contains a backslash; percent-encode it")
            case UInt8(ascii: "#"): throw invalid("contains a fragment, which is never sent; remove it")
            case 0x21...0x7E: break
            default: throw invalid("contains characters other than printable ASCII; percent-encode them")
            }
        }
        guard let scheme = ["https://", "http://"].first(where: { url.startsRegardlessOfCase(with: $0) }) else {
            throw invalid("does not start with https:// or http://")
        }
        let authority = authority(of: bytes, after: scheme)
        guard !authority.contains(UInt8(ascii: "@")) else {
            throw invalid("contains a user name; pass credentials as headers instead")
        }
        let (host, port) = split(authority)
        guard isHost(host) else { throw invalid("has no valid host") }
        guard let port else { return }
        guard port.allSatisfy(\.isDigit), let number = UInt16(text(port)), number > 0 else {
            throw invalid("has an invalid port")
        }
    }

    /// Returns the host and the port of a valid URL, for messages. Its other parts may contain secrets.
    static func place(in url: String) -> String {
        let isSecure = url.startsRegardlessOfCase(with: "https://")
        let (host, port) = split(authority(of: Array(url.utf8), after: isSecure ? "https://" : "http://"))
        return "\(text(host)):\(port.map(text) ?? (isSecure ? "443" : "80"))"
    }

    /// The values of the header `Host` that name the receiver of a valid URL: with the port, and without the scheme's.
    static func hosts(in url: String) -> [String] {
        let place = place(in: url)
        let port = url.startsRegardlessOfCase(with: "https://") ? ":443" : ":80"
        return [place] + (place.hasSuffix(port) ? [String(place.dropLast(port.count))] : [])
    }

    private typealias Part = ArraySlice<UInt8>

    private static func text(_ part: Part) -> String { String(decoding: part, as: UTF8.self) }

    private static func authority(of url: [UInt8], after scheme: String) -> Part {
        url.dropFirst(scheme.utf8.count).prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
    }

    private static func split(_ authority: Part) -> (host: Part, port: Part?) {
        let afterAddress = authority.lastIndex(of: UInt8(ascii: "]")) ?? authority.startIndex
        guard let colon = authority[afterAddress...].firstIndex(of: UInt8(ascii: ":")) else { return (authority, nil) }
        return (authority[..<colon], authority[authority.index(after: colon)...])
    }

    private static func isHost(_ host: Part) -> Bool {
        if host.first == UInt8(ascii: "[") {
            return host.last == UInt8(ascii: "]") && host.count > 3
                && host.dropFirst().dropLast().allSatisfy { hexadecimalDigit($0) != nil || ":.".utf8.contains($0) }
        }
        return host.contains(where: \.isLetterOrDigit)
            && host.allSatisfy { $0.isLetterOrDigit || "-._~".utf8.contains($0) }
    }
}
