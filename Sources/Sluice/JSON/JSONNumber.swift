/// The digits of numbers in JSON.
enum JSONNumber {
    /// The longest text in bytes that ``write(_:to:)-(Int64,_)`` and ``writeDecimal(_:to:)`` write.
    static let maximumLength = 24

    /// Writes an integer.
    ///
    /// - Returns: the length.
    static func write(_ value: Int64, to target: UnsafeMutableRawPointer) -> Int {
        var start = target
        if value < 0 {
            target.storeBytes(of: UInt8(ascii: "-"), as: UInt8.self)
            start += 1
        }
        var rest = value.magnitude
        var length = 1
        // A magnitude has at most 19 digits, so the bound doesn't overflow before the loop ends.
        var bound: UInt64 = 10
        while rest >= bound {
            length += 1
            bound &*= 10
        }
        var position = length
        while rest >= 10 {
            let (quotient, pair) = rest.quotientAndRemainder(dividingBy: 100)
            position -= 2
            start.storeBytes(of: twoDigits(pair), toByteOffset: position, as: UInt16.self)
            rest = quotient
        }
        if position > 0 { start.storeBytes(of: digit(rest), as: UInt8.self) }
        return (value < 0 ? 1 : 0) + length
    }

    /// Writes a number of at most four decimals, such as a price, without a search for its shortest digits. At most one
    /// number of fifteen digits reads back as the same double, so without trailing zeros it is the shortest.
    ///
    /// - Returns: the length; nil, and nothing is written, if it is a different number.
    static func writeDecimal(_ value: Double, to target: UnsafeMutableRawPointer) -> Int? {
        let scaled = (value.magnitude * 10_000).rounded()
        guard scaled >= 1, scaled < 1e15, scaled / 10_000 == value.magnitude else { return nil }
        let (whole, fraction) = UInt64(scaled).quotientAndRemainder(dividingBy: 10_000)
        if value < 0 { target.storeBytes(of: UInt8(ascii: "-"), as: UInt8.self) }
        var length = value < 0 ? 1 : 0
        length += write(Int64(whole), to: target + length)
        target.storeBytes(of: UInt8(ascii: "."), toByteOffset: length, as: UInt8.self)
        target.storeBytes(of: twoDigits(fraction / 100), toByteOffset: length + 1, as: UInt16.self)
        target.storeBytes(of: twoDigits(fraction % 100), toByteOffset: length + 3, as: UInt16.self)
        return length + (fraction % 100 == 0 ? (fraction % 1_000 == 0 ? 2 : 3) : (fraction % 10 == 0 ? 4 : 5))
    }

    private static func digit(_ value: UInt64) -> UInt8 { UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value) }

    /// The two digits of a number below 100, in the order of memory.
    private static func twoDigits(_ value: UInt64) -> UInt16 {
        (UInt16(digit(value / 10)) | UInt16(digit(value % 10)) << 8).littleEndian
    }
}
