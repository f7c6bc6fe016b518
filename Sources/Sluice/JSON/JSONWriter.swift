/// Writes JSON into a growing buffer of bytes, bounded so that no input can make it grow without end.
///
/// It knows values, strings and raw bytes; commas, colons and braces are the caller's, by ``raw(_:)-(StaticString)``.
/// Wire formats use it to build their envelopes.
public struct JSONWriter: Sendable {
    /// What was written so far. Once ``isOverfull`` it is no longer whole.
    public private(set) var bytes: [UInt8] = []

    /// Whether more than the limit would have been written.
    public private(set) var isOverfull = false

    private let limit: Int

    /// - Parameters:
    ///   - capacity: bytes to reserve at the start.
    ///   - limit: the most bytes that may be written.
    public init(capacity: Int = 512, limit: Int = .max) {
        self.limit = limit
        bytes.reserveCapacity(min(capacity, limit))
    }

    /// Copies UTF-8 that is JSON already.
    public mutating func raw(_ text: StaticString) {
        text.withUTF8Buffer { append($0) }
    }

    /// Copies bytes that are JSON already, such as an ``EventLine``.
    public mutating func raw(_ source: some Collection<UInt8>) {
        guard hasRoom(for: source.count) else { return }
        bytes.append(contentsOf: source)
    }

    public mutating func value(_ value: PropertyValue) {
        switch value {
        case .string(let string): self.string(string)
        case .int(let int): integer(int)
        case .double(let double): number(double)
        case .bool(let bool): bool ? raw("true") : raw("false")
        case .date(let date): self.date(date)
        case .array(let array):
            raw("[")
            var isFirst = true
            for element in array {
                if isOverfull { return }
                if !isFirst { raw(",") }
                isFirst = false
                self.value(element)
            }
            raw("]")
        case .object(let object): self.object(object)
        case .null: raw("null")
        }
    }

    public mutating func object(_ properties: Properties) {
        raw("{")
        var isFirst = true
        for property in properties {
            if isOverfull { return }
            if !isFirst { raw(",") }
            isFirst = false
            string(property.name)
            raw(":")
            value(property.value)
        }
        raw("}")
    }

    public mutating func integer(_ value: some BinaryInteger) {
        var digits = value.description
        digits.withUTF8 { append($0) }
    }

    /// A double in the fewest digits that read back as the same double; it always has a point or an exponent, which
    /// tells it from an integer. Not-a-number and the infinities are null.
    public mutating func number(_ value: Double) {
        guard value.isFinite else { return raw("null") }
        var digits = value.description
        digits.withUTF8 { append($0) }
    }

    /// A string in quotes. Escaped are the quote, the backslash and the controls below U+0020, and nothing else.
    public mutating func string(_ value: String) {
        var value = value
        value.withUTF8 { utf8 in
            raw("\"")
            var start = 0
            for index in utf8.indices {
                let byte = utf8[index]
                guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
                append(UnsafeBufferPointer(rebasing: utf8[start..<index]))
                escape(byte)
                start = index + 1
            }
            append(UnsafeBufferPointer(rebasing: utf8[start...]))
            raw("\"")
        }
    }

    /// A moment in ISO 8601, such as `"2026-11-21T05:55:16.123\u005a"`.
    ///
    /// To every JSON reader that is the same string as with a plain Z. ``JSONReader`` knows by the escape, which
    /// ``string(_:)`` never writes for a Z, that a date was meant.
    public mutating func date(_ date: Timestamp) {
        guard Timestamp.writable.contains(date) else { return raw("null") }
        raw("\"")
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Timestamp.digitsLength) { buffer in
            date.writeDigits(into: buffer)
            append(UnsafeBufferPointer(buffer))
        }
        raw(#"\u005a""#)
    }

    mutating func id(_ id: EventID) {
        raw("\"")
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: EventID.textLength) { buffer in
            id.write(into: buffer)
            append(UnsafeBufferPointer(buffer))
        }
        raw("\"")
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): raw(#"\""#)
        case UInt8(ascii: "\\"): raw(#"\\"#)
        case 0x08: raw(#"\b"#)
        case 0x09: raw(#"\t"#)
        case 0x0A: raw(#"\n"#)
        case 0x0C: raw(#"\f"#)
        case 0x0D: raw(#"\r"#)
        default:
            raw(#"\u00"#)
            let digits: StaticString = "0123456789abcdef"
            digits.withUTF8Buffer { digits in
                append(UnsafeBufferPointer(rebasing: digits[Int(byte >> 4)...Int(byte >> 4)]))
                append(UnsafeBufferPointer(rebasing: digits[Int(byte & 15)...Int(byte & 15)]))
            }
        }
    }

    private mutating func append(_ source: UnsafeBufferPointer<UInt8>) {
        guard hasRoom(for: source.count) else { return }
        bytes.append(contentsOf: source)
    }

    private mutating func hasRoom(for count: Int) -> Bool {
        if bytes.count + count > limit { isOverfull = true }
        return !isOverfull
    }
}
