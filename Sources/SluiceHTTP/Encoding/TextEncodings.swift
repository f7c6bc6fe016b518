internal import Sluice

/// Text encodings for requests of your own ``WireFormat``.
///
/// ```swift
/// let key = HTTPEncoding.base64(secret.utf8)
/// let path = HTTPEncoding.percentEncoded("a topic")  // a%20topic
/// ```
public enum HTTPEncoding {
    /// Returns Base64 with the standard alphabet and padding (RFC 4648, 4).
    public static func base64(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: Base64.encode(Array(bytes)), as: UTF8.self)
    }

    /// Returns the text with every byte of its UTF-8 as `%XX`, except letters, digits, `-`, `.`, `_` and `~`.
    public static func percentEncoded(_ text: String) -> String { text.percentEncoded }
}

extension String {
    package var percentEncoded: String { String(decoding: utf8.percentEncoded, as: UTF8.self) }
}

extension UInt8 {
    var isDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }
    /// Whether it is a letter or a digit of ASCII.
    var isLetterOrDigit: Bool { isDigit || UInt8(ascii: "a")...UInt8(ascii: "z") ~= self | 0x20 }
    var lowercased: UInt8 { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= self ? self | 0x20 : self }
}

extension Collection where Element == UInt8 {
    /// Every byte except RFC 3986's unreserved characters as `%XX`.
    package var percentEncoded: [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        var result: [UInt8] = []
        result.reserveCapacity(count)
        for byte in self {
            if byte.isLetterOrDigit || "-._~".utf8.contains(byte) {
                result.append(byte)
            } else {
                result += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return result
    }
}
