/// A version 7 UUID (RFC 9562, 5.7): 48 bits of milliseconds, a 12-bit counter and 62 random bits.
///
/// The ids of one pipeline ascend in the order in which they were created, as bytes and as text, unless the wall clock is set
/// back by more than 10 seconds in sum. They then begin with the earlier time, so an order across that moment needs the order of the
/// stored lines.
///
/// ```swift
/// let id = pipeline.track("Purchase")
/// print("tracked \(id)")
/// ```
public struct EventID: Sendable, Hashable, Comparable {
    /// The first 64 bits.
    public let high: UInt64
    /// The last 64 bits.
    public let low: UInt64

    /// The number of ASCII characters in ``description``.
    public static let textLength = 36

    /// Creates an id from the bits of a UUID of any version.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Creates a version 4 UUID, for ids of other things than events.
    package static func random(_ random: () -> UInt64) -> EventID {
        EventID(high: random() & ~0xF000 | 4 << 12, low: random() >> 2 | 0b10 << 62)
    }

    /// Creates a version 7 UUID of a time, with random bits of the operating system.
    ///
    /// The pipeline creates the ids of its events. Use this method for events that you track with an id of your own, or in
    /// your own ``EventTracking``:
    ///
    /// ```swift
    /// let time = Timestamp(milliseconds: 1_800_000_000_000)
    /// let id = EventID.make(at: time)
    /// pipeline.track("Purchase", ["sku": "A-7"], id: id) { $0.time = time }
    /// ```
    ///
    /// Ids of one millisecond are in no particular order.
    ///
    /// - Parameter time: The time of the event, in milliseconds since 1970.
    /// - Returns: A new id. You can call this method from any thread.
    public static func make(at time: Timestamp) -> EventID {
        timed(time) { .random(in: .min ... .max) }
    }

    /// Creates a version 7 UUID of a time.
    package static func timed(_ time: Timestamp, _ random: () -> UInt64) -> EventID {
        EventID(high: 7 << 12 | random() & 0xFFF, low: 0b10 << 62 | random() >> 2).with(time)
    }

    /// The time of a version 7 UUID. Nil for any other version.
    package var time: Timestamp? {
        high >> 12 & 0xF == 7 ? Timestamp(milliseconds: Int64(high >> 16)) : nil
    }

    /// A version 7 UUID with another time and the same other bits.
    package func with(_ time: Timestamp) -> EventID {
        let millisecond = UInt64(min(max(time.milliseconds, 0), 1 << 48 - 1))
        return EventID(high: millisecond << 16 | high & 0xFFFF, low: low)
    }

    /// Returns whether `left` comes before `right`, as bytes and as text.
    public static func < (left: EventID, right: EventID) -> Bool { (left.high, left.low) < (right.high, right.low) }
}

extension EventID: CustomStringConvertible, LosslessStringConvertible {
    /// The canonical form in lower case.
    public var description: String {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: EventID.textLength) { buffer in
            write(into: buffer)
            return String(decoding: buffer, as: UTF8.self)
        }
    }

    /// Reads the canonical form in upper or lower case. Returns nil for any other.
    ///
    /// ```swift
    /// let id = EventID("01912d68-783e-7a03-8467-5661c1243ad4")
    /// ```
    public init?(_ description: String) {
        var description = description
        guard let id = description.withUTF8({ EventID(text: $0) }) else { return nil }
        self = id
    }

    package func write(into buffer: UnsafeMutableBufferPointer<UInt8>) {
        write(UInt32(truncatingIfNeeded: high >> 32), 0, 4, into: buffer)
        buffer[8] = UInt8(ascii: "-")
        write(UInt32(truncatingIfNeeded: high), 9, 14, into: buffer)
        buffer[13] = UInt8(ascii: "-")
        buffer[18] = UInt8(ascii: "-")
        write(UInt32(truncatingIfNeeded: low >> 32), 19, 24, into: buffer)
        buffer[23] = UInt8(ascii: "-")
        write(UInt32(truncatingIfNeeded: low), 28, 32, into: buffer)
    }

    /// Writes eight digits in two groups of four.
    @inline(__always)
    private func write(_ half: UInt32, _ first: Int, _ second: Int, into buffer: UnsafeMutableBufferPointer<UInt8>) {
        let bytes = UnsafeMutableRawBufferPointer(buffer)
        let digits = hexadecimalDigits(half)
        bytes.storeBytes(of: UInt32(truncatingIfNeeded: digits >> 32).bigEndian, toByteOffset: first, as: UInt32.self)
        bytes.storeBytes(of: UInt32(truncatingIfNeeded: digits).bigEndian, toByteOffset: second, as: UInt32.self)
    }

    package init?(text: UnsafeBufferPointer<UInt8>) {
        guard text.count == EventID.textLength, [8, 13, 18, 23].allSatisfy({ text[$0] == UInt8(ascii: "-") }),
            let one = EventID.read(0, 4, from: text), let two = EventID.read(9, 14, from: text),
            let three = EventID.read(19, 24, from: text), let four = EventID.read(28, 32, from: text)
        else { return nil }
        self.init(high: UInt64(one) << 32 | UInt64(two), low: UInt64(three) << 32 | UInt64(four))
    }

    /// Reads eight digits in two groups of four.
    @inline(__always)
    private static func read(_ first: Int, _ second: Int, from text: UnsafeBufferPointer<UInt8>) -> UInt32? {
        let bytes = UnsafeRawBufferPointer(text)
        let high = bytes.loadUnaligned(fromByteOffset: first, as: UInt32.self).bigEndian
        let low = bytes.loadUnaligned(fromByteOffset: second, as: UInt32.self).bigEndian
        return hexadecimalValue(UInt64(high) << 32 | UInt64(low))
    }
}

/// Returns the eight digits of a number in lower case, the first in the highest byte.
package func hexadecimalDigits(_ value: UInt32) -> UInt64 {
    // All digits together, because each event writes an id. Spread the half bytes, one to each byte.
    var digits = UInt64(value)
    digits = (digits | digits << 16) & 0x0000_FFFF_0000_FFFF
    digits = (digits | digits << 8) & 0x00FF_00FF_00FF_00FF
    digits = (digits | digits << 4) & 0x0F0F_0F0F_0F0F_0F0F
    // Adding six to ten or more carries into the upper half: these become letters, 39 characters after the digits.
    let letters = (digits &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
    return digits &+ 0x3030_3030_3030_3030 &+ letters &* 39
}

/// Returns the number with these eight digits in upper or lower case, the first in the highest byte. Nil if one isn't a digit.
package func hexadecimalValue(_ digits: UInt64) -> UInt32? {
    let letters = digits >> 6 & 0x0101_0101_0101_0101
    var value = digits & 0x0F0F_0F0F_0F0F_0F0F &+ letters &* 9
    value = (value | value >> 4) & 0x00FF_00FF_00FF_00FF
    value = (value | value >> 8) & 0x0000_FFFF_0000_FFFF
    let number = UInt32(truncatingIfNeeded: value | value >> 16)
    // Other characters than digits don't come back. A letter in lower case has 32 more than one in upper case.
    return hexadecimalDigits(number) == digits | letters << 5 ? number : nil
}

package func hexadecimalDigit(_ character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
    default: nil
    }
}
