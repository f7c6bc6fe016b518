extension Collection where Element == UInt8 {
    /// All but the unreserved characters of RFC 3986 as `%XX`.
    var percentEncoded: [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        var result: [UInt8] = []
        result.reserveCapacity(count)
        for byte in self {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                result.append(byte)
            default:
                result += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return result
    }
}

extension String {
    var percentEncoded: String { String(decoding: utf8.percentEncoded, as: UTF8.self) }
}
