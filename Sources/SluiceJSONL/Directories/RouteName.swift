internal import Sluice

/// The name of a route in the name of a directory: `<uuid>` for the route `main`, `<uuid>.<name>` for others.
///
/// Letters, digits, `-` and `_` stand for themselves. All other bytes are `%` and two hexadecimal digits.
enum RouteName {
    /// The route of a pipeline without `Route`. A store that is used without a pipeline has its events.
    static let main = "main"
    private static let longest = 200

    /// - Returns: nil if the name is too long for a directory.
    static func suffix(for route: String) -> String? {
        if route == main { return "" }
        var suffix = "."
        for byte in route.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                suffix.unicodeScalars.append(Unicode.Scalar(byte))
            default: suffix += (byte < 16 ? "%0" : "%") + String(byte, radix: 16)
            }
        }
        return suffix.utf8.count <= longest ? suffix : nil
    }

    /// - Returns: the route whose events are in a directory; nil if a store has not made this name.
    static func route(ofDirectory name: String) -> String? {
        guard EventID(String(name.prefix(EventID.textLength))) != nil else { return nil }
        let suffix = name.dropFirst(EventID.textLength)
        if suffix.isEmpty { return main }
        guard suffix.hasPrefix(".") else { return nil }
        var bytes: [UInt8] = []
        var rest = suffix.dropFirst().utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let value = UInt8(Substring(rest.prefix(2)), radix: 16) else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }
}
