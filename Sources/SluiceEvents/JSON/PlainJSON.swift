/// Writes scalars that need no escape, which are nearly all, where there is room.
///
/// Nothing here can release an object, so the compiler borrows names and values instead of retaining them. ``JSONWriter``
/// does the rest. Each function returns the length of its text; nil if it can't write it, or if it may not fit. The target's
/// contents are undefined then.
enum PlainJSON {
    /// Writes a comma and a pair.
    @inline(__always)
    static func write(
        _ pair: UnsafePointer<PropertyStorage.Pair>, to target: UnsafeMutableRawPointer, _ room: Int
    ) -> Int? {
        guard let name = write(pair.pointee.0, to: target, room, comma: true, colon: true),
            let value = write(pair.pointee.1, to: target + name, room - name)
        else { return nil }
        return name + value
    }

    /// Writes a value, unless it is a date, an array, an object or null.
    @inline(__always)
    private static func write(
        _ value: borrowing PropertyValue, to target: UnsafeMutableRawPointer, _ room: Int
    ) -> Int? {
        switch value {
        case .string(let string): return write(string, to: target, room)
        case .int(let int): return room >= JSONNumber.maximumLength ? JSONNumber.write(int, to: target) : nil
        case .double(let double):
            return room >= JSONNumber.maximumLength ? JSONNumber.writeDecimal(double, to: target) : nil
        case .bool(let bool):
            guard room >= 5 else { return nil }
            target.copyMemory(from: ("false" as StaticString).utf8Start, byteCount: 5)
            if bool { target.copyMemory(from: ("true" as StaticString).utf8Start, byteCount: 4) }
            return bool ? 4 : 5
        case .date, .array, .object, .null: return nil
        }
    }

    /// Writes text in quotes, with a comma before or a colon after it.
    @inline(__always)
    static func write(
        _ text: borrowing String, to target: UnsafeMutableRawPointer, _ room: Int, comma: Bool = false,
        colon: Bool = false
    ) -> Int? {
        // A string bridged from Objective-C has no contiguous storage.
        text.utf8.withContiguousStorageIfAvailable { utf8 in
            write(utf8, to: target, room, comma: comma, colon: colon)
        } ?? nil
    }

    /// Writes text in quotes: at most four bytes more than the text.
    @inline(__always)
    static func write(
        _ utf8: UnsafeBufferPointer<UInt8>, to target: UnsafeMutableRawPointer, _ room: Int, comma: Bool, colon: Bool
    ) -> Int? {
        let start = comma ? 2 : 1
        guard room >= utf8.count + 4,
            JSONEscaping.copyUnescaped(UnsafeRawBufferPointer(utf8), to: target + start)
        else { return nil }
        if comma { target.storeBytes(of: UInt8(ascii: ","), as: UInt8.self) }
        target.storeBytes(of: UInt8(ascii: "\""), toByteOffset: start - 1, as: UInt8.self)
        let end = start + utf8.count
        target.storeBytes(of: UInt8(ascii: "\""), toByteOffset: end, as: UInt8.self)
        if colon { target.storeBytes(of: UInt8(ascii: ":"), toByteOffset: end + 1, as: UInt8.self) }
        return colon ? end + 2 : end + 1
    }
}
