/// A strict reader of JSON (RFC 8259): what it accepts, any other reader accepts, with the same meaning.
///
/// It refuses what a lenient reader lets pass: invalid UTF-8, names given twice, lone surrogates, integers beyond 64
/// bits, trailing bytes, and nesting below ``PropertyValue/maximumDepth``. It recurses no deeper than that.
public struct JSONReader {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0

    private init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    /// Reads one whole document.
    ///
    /// - Throws: ``SluiceError/Code/malformedLine`` with the offset of the first byte that is wrong.
    public static func value(of bytes: some Collection<UInt8>) throws(SluiceError) -> PropertyValue {
        try read(bytes) { (reader) throws(SluiceError) in try reader.value(depth: 0) }
    }

    /// Reads one object whose own level does not count for the depth: its values may be as deep as any others.
    static func fields(of bytes: some Collection<UInt8>) throws(SluiceError) -> [String: PropertyValue] {
        try read(bytes) { (reader) throws(SluiceError) in
            guard reader.isAt("{") else { throw reader.error("no object") }
            var fields: [String: PropertyValue] = [:]
            for (name, value) in try reader.pairs(depth: 0) {
                guard fields.updateValue(value, forKey: name) == nil else { throw reader.error("a name twice") }
            }
            return fields
        }
    }

    private static func read<Content>(
        _ bytes: some Collection<UInt8>,
        _ body: (inout JSONReader) throws(SluiceError) -> Content
    ) throws(SluiceError) -> Content {
        let bytes = ContiguousArray(bytes)
        let result = bytes.withUnsafeBufferPointer { buffer in
            // A typed throw cannot pass through the standard library's rethrowing closures.
            Result { () throws(SluiceError) -> Content in
                var reader = JSONReader(buffer)
                reader.skipSpace()
                let content = try body(&reader)
                reader.skipSpace()
                guard reader.position == buffer.count else { throw reader.error("more than one value") }
                return content
            }
        }
        return try result.get()
    }

    private func error(_ what: String) -> SluiceError {
        SluiceError(.malformedLine, "not JSON that can be read: \(what) at byte \(position)")
    }

    private mutating func skipSpace() {
        while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) {
            position += 1
        }
    }

    private mutating func skip(_ character: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == character else { return false }
        position += 1
        return true
    }

    private mutating func expect(_ character: Unicode.Scalar) throws(SluiceError) {
        guard skip(UInt8(ascii: character)) else { throw error("no \(character)") }
    }

    private mutating func value(depth: Int) throws(SluiceError) -> PropertyValue {
        guard position < bytes.count else { throw error("the end comes too early") }
        switch bytes[position] {
        case UInt8(ascii: "{"): return .object(try object(depth: depth + 1))
        case UInt8(ascii: "["): return .array(try array(depth: depth + 1))
        case UInt8(ascii: "\""): return try stringOrDate()
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func word(_ word: StaticString, _ value: PropertyValue) throws(SluiceError) -> PropertyValue {
        let matches = word.withUTF8Buffer { bytes[position...].starts(with: $0) }
        guard matches else { throw error("an unknown word") }
        position += word.utf8CodeUnitCount
        return value
    }

    private func isAt(_ character: Unicode.Scalar) -> Bool {
        position < bytes.count && bytes[position] == UInt8(ascii: character)
    }

    private mutating func object(depth: Int) throws(SluiceError) -> Properties {
        guard depth <= PropertyValue.maximumDepth else { throw error("too deep a nesting") }
        let pairs = try pairs(depth: depth)
        let result = Properties(pairs)
        guard result.count == pairs.count else { throw error("a name twice or overlong in the object that ends") }
        return result
    }

    private mutating func pairs(depth: Int) throws(SluiceError) -> [(String, PropertyValue)] {
        position += 1
        var pairs: [(String, PropertyValue)] = []
        skipSpace()
        if !skip(UInt8(ascii: "}")) {
            repeat {
                skipSpace()
                guard isAt("\"") else { throw error("no name") }
                let name = try string()
                skipSpace()
                try expect(":")
                skipSpace()
                pairs.append((name, try value(depth: depth)))
                skipSpace()
            } while skip(UInt8(ascii: ","))
            try expect("}")
        }
        return pairs
    }

    private mutating func array(depth: Int) throws(SluiceError) -> PropertyArray {
        guard depth <= PropertyValue.maximumDepth else { throw error("too deep a nesting") }
        position += 1
        var elements: [PropertyValue] = []
        skipSpace()
        if !skip(UInt8(ascii: "]")) {
            repeat {
                skipSpace()
                elements.append(try value(depth: depth))
                skipSpace()
            } while skip(UInt8(ascii: ","))
            try expect("]")
        }
        return PropertyArray(elements)
    }

    private mutating func number() throws(SluiceError) -> PropertyValue {
        let start = position
        _ = skip(UInt8(ascii: "-"))
        if !skip(UInt8(ascii: "0")) { try digits() }
        var isInteger = true
        if skip(UInt8(ascii: ".")) {
            isInteger = false
            try digits()
        }
        if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
            isInteger = false
            if !skip(UInt8(ascii: "+")) { _ = skip(UInt8(ascii: "-")) }
            try digits()
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if isInteger {
            guard let int = Int64(text) else { throw error("an integer beyond 64 bits") }
            return .int(int)
        }
        guard let double = Double(text), double.isFinite else { throw error("a number beyond a double") }
        return .double(double)
    }

    private mutating func digits() throws(SluiceError) {
        let start = position
        while position < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[position]) {
            position += 1
        }
        guard position > start else { throw error("no digit") }
    }

    private mutating func stringOrDate() throws(SluiceError) -> PropertyValue {
        let start = position + 1
        let end = start + Timestamp.digitsLength
        let mark: StaticString = #"\u005a""#
        if end + mark.utf8CodeUnitCount <= bytes.count,
            mark.withUTF8Buffer({ bytes[end...].starts(with: $0) }),
            let date = Timestamp(digits: UnsafeBufferPointer(rebasing: bytes[start..<end]))
        {
            position = end + mark.utf8CodeUnitCount
            return .date(date)
        }
        return .string(try string())
    }

    private mutating func string() throws(SluiceError) -> String {
        position += 1
        let start = position
        var unescaped: [UInt8]?
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            let byte = bytes[position]
            guard byte >= 0x20 else { throw error("a control character in a string") }
            if byte == UInt8(ascii: "\\") {
                var copy = unescaped ?? Array(bytes[start..<position])
                try unescape(into: &copy)
                unescaped = copy
            } else {
                unescaped?.append(byte)
                position += 1
            }
        }
        let end = position
        try expect("\"")
        let result = unescaped.map(validated) ?? validated(bytes[start..<end])
        guard let result else { throw error("invalid UTF-8 in the string that ends") }
        return result
    }

    /// Decoding repairs, and a repair changes the bytes: so equal bytes mean valid UTF-8.
    private func validated(_ source: some Collection<UInt8>) -> String? {
        let string = String(decoding: source, as: UTF8.self)
        return string.utf8.count == source.count && string.utf8.elementsEqual(source) ? string : nil
    }

    private mutating func unescape(into result: inout [UInt8]) throws(SluiceError) {
        position += 1
        guard position < bytes.count else { throw error("the end comes too early") }
        let character = bytes[position]
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
    }

    private mutating func escapedScalar() throws(SluiceError) -> Unicode.Scalar {
        let first = try codeUnit()
        var value = UInt32(first)
        if (0xD800...0xDBFF).contains(first), skip(UInt8(ascii: "\\")), skip(UInt8(ascii: "u")) {
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
            guard position < bytes.count, let digit = hexadecimalDigit(bytes[position]) else {
                throw error("no hexadecimal digit")
            }
            value = value << 4 | UInt16(digit)
            position += 1
        }
        return value
    }
}
