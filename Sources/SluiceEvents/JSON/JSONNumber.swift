/// The digits of numbers in JSON.
enum JSONNumber {
    /// The longest text in bytes that ``write(_:to:)-(Int64,_)`` and ``writeDecimal(_:to:)`` write.
    static let maximumLength = 24

    /// Writes an integer. The target has room for ``maximumLength`` bytes, and all of them may be overwritten.
    ///
    /// - Returns: the length.
    static func write(_ value: Int64, to target: UnsafeMutableRawPointer) -> Int {
        guard value < 0 else { return write(value.magnitude, to: target) }
        target.storeBytes(of: UInt8(ascii: "-"), as: UInt8.self)
        return 1 + write(value.magnitude, to: target + 1)
    }

    @inline(__always)
    private static func write(_ value: UInt64, to target: UnsafeMutableRawPointer) -> Int {
        value < 100_000_000 ? writeFirst(value, to: target) : writeLong(value, to: target)
    }

    @inline(never)
    private static func writeLong(_ value: UInt64, to target: UnsafeMutableRawPointer) -> Int {
        let (rest, last) = value.quotientAndRemainder(dividingBy: 100_000_000)
        if rest < 100_000_000 { return writeEight(last, to: target, at: writeFirst(rest, to: target)) }
        let (first, middle) = rest.quotientAndRemainder(dividingBy: 100_000_000)
        let length = writeEight(middle, to: target, at: writeFirst(first, to: target))
        return writeEight(last, to: target, at: length)
    }

    /// Writes a number below 100,000,000 with leading zeros.
    ///
    /// - Returns: the offset after it.
    @inline(__always)
    private static func writeEight(_ value: UInt64, to target: UnsafeMutableRawPointer, at offset: Int) -> Int {
        let digits = eightDigits(value) | asciiZeros
        target.storeBytes(of: digits.littleEndian, toByteOffset: offset, as: UInt64.self)
        return offset + 8
    }

    /// Writes a number below 100,000,000 without leading zeros.
    @inline(__always)
    private static func writeFirst(_ value: UInt64, to target: UnsafeMutableRawPointer) -> Int {
        let digits = eightDigits(value)
        // The first digits are the lowest bytes. A number has at least one digit.
        let zeros = min(digits.trailingZeroBitCount / 8, 7)
        target.storeBytes(of: ((digits | asciiZeros) >> UInt64(8 * zeros)).littleEndian, as: UInt64.self)
        return 8 - zeros
    }

    /// Writes a number of at most four decimals, such as a price, without a search for its shortest digits. At most one
    /// number of fifteen digits reads back as the same double, so without trailing zeros it is the shortest.
    ///
    /// - Returns: the length; nil, and nothing is written, if it is a different number.
    static func writeDecimal(_ value: Double, to target: UnsafeMutableRawPointer) -> Int? {
        let scaled = value.magnitude * 10_000
        guard scaled < 1e15 else { return nil }
        // Without `rounded()`, which on Linux calls a function of the C math library. A program with no other module of this
        // package doesn't link that library.
        let nearest = Int64(scaled + 0.5)
        guard nearest >= 1, Double(nearest) / 10_000 == value.magnitude else { return nil }
        let (whole, fraction) = UInt64(nearest).quotientAndRemainder(dividingBy: 10_000)
        if value < 0 { target.storeBytes(of: UInt8(ascii: "-"), as: UInt8.self) }
        var length = value < 0 ? 1 : 0
        length += write(whole, to: target + length)
        // The four digits are the upper half.
        let digits = (eightDigits(fraction) | asciiZeros) >> 32
        target.storeBytes(of: UInt8(ascii: "."), toByteOffset: length, as: UInt8.self)
        let last = UInt32(truncatingIfNeeded: digits)
        target.storeBytes(of: last.littleEndian, toByteOffset: length + 1, as: UInt32.self)
        return length + (fraction % 100 == 0 ? (fraction % 1_000 == 0 ? 2 : 3) : (fraction % 10 == 0 ? 4 : 5))
    }

    /// Whether a writer writes a number as this text.
    static func isText(_ text: UnsafeBufferPointer<UInt8>, of value: Double) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: maximumLength, alignment: 8) { target in
            guard let start = target.baseAddress, let length = writeDecimal(value, to: start) else {
                return value.description.utf8.elementsEqual(text)
            }
            return text.count == length && text.indices.allSatisfy { text[$0] == target[$0] }
        }
    }

    private static var asciiZeros: UInt64 { 0x3030_3030_3030_3030 }

    /// The digits of a number below 100,000,000 with leading zeros, from 0 to 9, the first in the lowest byte.
    ///
    /// Each step divides all parts of the number together: into halves of four digits, pairs, and digits. The factors and
    /// shifts are reciprocals that are exact for parts of this size. Dividing by ten for each digit would be slower.
    @inline(__always)
    private static func eightDigits(_ value: UInt64) -> UInt64 {
        let (first, last) = value.quotientAndRemainder(dividingBy: 10_000)
        let halves = first | last << 32
        let hundreds = (halves &* 10_486) >> 20 & 0x0000_007F_0000_007F
        let pairs = hundreds | (halves &- hundreds &* 100) << 16
        let tens = (pairs &* 103) >> 10 & 0x000F_000F_000F_000F
        return tens | (pairs &- tens &* 10) << 8
    }

    /// The digits of a number that is read.
    struct Digits {
        /// How many of them come after the point.
        var decimals = 0
        /// Whether there are too many, or an exponent follows.
        var overflows = false
        private var value: UInt64 = 0

        mutating func append(_ digit: UInt8) {
            let (product, isTooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflows) = product.addingReportingOverflow(UInt64(digit))
            value = sum
            self.overflows = self.overflows || isTooLarge || overflows
        }

        /// Nil for an integer that doesn't fit into 64 bits.
        func integer(isNegative: Bool) -> Int64? {
            if overflows { return nil }
            if isNegative, value == Int64.min.magnitude { return .min }
            return Int64(exactly: value).map { isNegative ? -$0 : $0 }
        }

        /// The quotient of two integers that a double holds exactly is the nearest double. Nil for other numbers.
        func decimal(isNegative: Bool) -> Double? {
            guard !overflows, value <= 1 << 53, decimals < Digits.powers.count else { return nil }
            let magnitude = Double(value) / Digits.powers[decimals]
            return isNegative ? -magnitude : magnitude
        }

        /// The powers of ten that a double holds exactly.
        private static let powers: [Double] = (0..<22).reduce(into: [1]) { $0.append($0[$1] * 10) }
    }
}
