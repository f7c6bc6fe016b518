extension Collection where Element == UInt8 {
    /// The bytes in Base64 (RFC 4648, 4), padded, as ASCII.
    var base64: [UInt8] {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        let padding = UInt8(ascii: "=")
        var result: [UInt8] = []
        result.reserveCapacity((count + 2) / 3 * 4)
        var iterator = makeIterator()
        while let first = iterator.next() {
            let (second, third) = (iterator.next(), iterator.next())
            result.append(letters[Int(first >> 2)])
            result.append(letters[Int((first & 3) << 4 | (second ?? 0) >> 4)])
            result.append(second.map { letters[Int(($0 & 15) << 2 | (third ?? 0) >> 6)] } ?? padding)
            result.append(third.map { letters[Int($0 & 63)] } ?? padding)
        }
        return result
    }
}

extension String {
    var base64: String { String(decoding: utf8.base64, as: UTF8.self) }
}
