extension JSONReader {
    /// Skips a date that the writer has marked. Returns nil if something else comes next.
    mutating func date() -> Timestamp? {
        let (start, end) = (position + 1, position + 1 + Timestamp.digitsLength)
        guard end < bytes.count, bytes[end] == UInt8(ascii: "\\"),
            let date = Timestamp(digits: UnsafeBufferPointer(rebasing: bytes[start..<end]))
        else { return nil }
        position = end
        if skip(text: #"\u005a""#) { return date }
        position = start - 1
        return nil
    }

    /// Reads a string, whose quote comes next.
    mutating func string() throws(SluiceError) -> String {
        position += 1
        let start = position
        skipPlainText()
        let string: String?
        if isAt("\"") {
            string = String(valid: text(from: start))
        } else {
            var unescaped = Array(text(from: start))
            while !isAt("\"") {
                guard isAt("\\") else { throw error(isAtEnd ? "no \"" : "a control character in a string") }
                try unescape(into: &unescaped)
                let rest = position
                skipPlainText()
                unescaped += text(from: rest)
            }
            string = unescaped.withUnsafeBufferPointer { String(valid: $0) }
        }
        try expect("\"")
        guard let string else { throw error("invalid UTF-8 in the string that ends") }
        return string
    }

    /// Skips the bytes up to a quote, a backslash or a control character.
    private mutating func skipPlainText() {
        let rest = UnsafeRawBufferPointer(bytes)[position...]
        position += JSONEscaping.plainLength(of: UnsafeRawBufferPointer(rebasing: rest))
    }

    private mutating func unescape(into result: inout [UInt8]) throws(SluiceError) {
        let (start, count) = (position, result.count)
        position += 1
        guard !isAtEnd else { throw error("the end comes too early") }
        let character = next
        position += 1
        switch character {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): result.append(character)
        case UInt8(ascii: "b"): result.append(0x08)
        case UInt8(ascii: "f"): result.append(0x0C)
        case UInt8(ascii: "n"): result.append(0x0A)
        case UInt8(ascii: "r"): result.append(0x0D)
        case UInt8(ascii: "t"): result.append(0x09)
        case UInt8(ascii: "u"): result.append(contentsOf: String(Character(try escapedScalar())).utf8)
        default: throw error("an unknown escape")
        }
        if isCanonical {
            isCanonical = JSONEscaping.escape(for: result[count])?.elementsEqual(text(from: start)) ?? false
        }
    }

    private mutating func escapedScalar() throws(SluiceError) -> Unicode.Scalar {
        let first = try codeUnit()
        var value = UInt32(first)
        if (0xD800...0xDBFF).contains(first), skip("\\"), skip("u") {
            let second = try codeUnit()
            guard (0xDC00...0xDFFF).contains(second) else { throw error("half a surrogate pair") }
            value = 0x10000 + (UInt32(first) - 0xD800) << 10 + UInt32(second) - 0xDC00
        }
        guard let scalar = Unicode.Scalar(value) else { throw error("half a surrogate pair") }
        return scalar
    }

    private mutating func codeUnit() throws(SluiceError) -> UInt16 {
        var value: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = hexadecimalDigit(next) else { throw error("no hexadecimal digit") }
            value = value << 4 | UInt16(digit)
            position += 1
        }
        return value
    }
}

extension String {
    /// Returns nil for invalid UTF-8.
    fileprivate init?(valid source: UnsafeBufferPointer<UInt8>) {
        self = String(unsafeUninitializedCapacity: source.count) { $0.initialize(from: source).index }
        // Decoding replaces invalid bytes by a character that isn't ASCII.
        guard isASCII || utf8.elementsEqual(source) else { return nil }
    }
}
