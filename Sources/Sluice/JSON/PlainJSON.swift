/// Writes pairs without escapes, which are nearly all, into a buffer of a fixed length.
///
/// ``JSONWriter`` checks uniqueness, room and limit for each piece. This type checks only the room, once for each name
/// and each value.
struct PlainJSON {
    private(set) var position: UnsafeMutableRawPointer
    private let end: UnsafeMutableRawPointer

    init(_ position: UnsafeMutableRawPointer, until end: UnsafeMutableRawPointer) {
        self.position = position
        self.end = end
    }

    /// Writes a pair with its comma and colon.
    ///
    /// - Returns: false, and writes nothing, if the pair needs an escape, has another type or may not fit.
    @inline(__always)
    mutating func write(_ pair: UnsafePointer<Properties.Pair>, isFirst: Bool) -> Bool {
        let start = position
        if text(pair.pointee.0, comma: !isFirst, colon: true), value(pair.pointee.1) { return true }
        position = start
        return false
    }

    @inline(__always)
    private mutating func value(_ value: borrowing PropertyValue) -> Bool {
        switch value {
        case .string(let string): return text(string)
        case .int(let int):
            guard end - position >= JSONNumber.maximumLength else { return false }
            position += JSONNumber.write(int, to: position)
        case .double(let double):
            guard end - position >= JSONNumber.maximumLength,
                let length = JSONNumber.writeDecimal(double, to: position)
            else { return false }
            position += length
        case .bool(let bool): return bool ? raw("true") : raw("false")
        case .date, .array, .object, .null: return false
        }
        return true
    }

    @inline(__always)
    private mutating func raw(_ text: StaticString) -> Bool {
        guard end - position >= text.utf8CodeUnitCount else { return false }
        position.copyMemory(from: text.utf8Start, byteCount: text.utf8CodeUnitCount)
        position += text.utf8CodeUnitCount
        return true
    }

    /// Writes text in quotes, with a comma before or a colon after it.
    @inline(__always)
    private mutating func text(_ text: borrowing String, comma: Bool = false, colon: Bool = false) -> Bool {
        // A string bridged from Objective-C has no contiguous storage.
        text.utf8.withContiguousStorageIfAvailable { utf8 in
            guard end - position >= utf8.count + 4,
                let length = PlainJSON.write(utf8, to: position, comma: comma, colon: colon)
            else { return false }
            position += length
            return true
        } ?? false
    }

    /// Writes text in quotes, with a comma before or a colon after it: at most four bytes more than the text.
    ///
    /// - Returns: the length; nil if the text needs an escape. The target's contents are undefined then.
    @inline(__always)
    static func write(
        _ utf8: UnsafeBufferPointer<UInt8>, to target: UnsafeMutableRawPointer, comma: Bool, colon: Bool
    ) -> Int? {
        let start = comma ? 2 : 1
        guard JSONEscaping.copyUnescaped(UnsafeRawBufferPointer(utf8), to: target + start) else { return nil }
        if comma { target.storeBytes(of: UInt8(ascii: ","), as: UInt8.self) }
        target.storeBytes(of: UInt8(ascii: "\""), toByteOffset: start - 1, as: UInt8.self)
        let end = start + utf8.count
        target.storeBytes(of: UInt8(ascii: "\""), toByteOffset: end, as: UInt8.self)
        if colon { target.storeBytes(of: UInt8(ascii: ":"), toByteOffset: end + 1, as: UInt8.self) }
        return colon ? end + 2 : end + 1
    }
}
