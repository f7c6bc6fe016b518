/// A strict reader of JSON (RFC 8259). Any other reader accepts the documents that it accepts, with the same meaning.
///
/// It rejects invalid UTF-8, duplicate names, lone surrogates, integers beyond 64 bits, trailing bytes, strings in
/// containers that are longer than ``PropertyValue/maximumStringBytes``, and values below ``PropertyValue/maximumDepth``,
/// which also bounds its recursion. Names that differ only in Unicode normalization are duplicates.
package struct JSONReader {
    private let bytes: [UInt8]
    private var position = 0

    /// Reads one document.
    ///
    /// - Throws: ``SluiceError/Code/malformedLine`` with the offset of the first wrong byte.
    package static func value(of bytes: some Collection<UInt8>) throws(SluiceError) -> PropertyValue {
        try read(bytes) { (reader) throws(SluiceError) in try reader.value(depth: 0) }
    }

    /// Reads one object. Its own level doesn't count toward the depth.
    package static func fields(of bytes: some Collection<UInt8>) throws(SluiceError) -> [String: PropertyValue] {
        try read(bytes) { (reader) throws(SluiceError) in
            guard reader.isAt("{") else { throw reader.error("no object") }
            var fields: [String: PropertyValue] = [:]
            for (name, value) in try reader.pairs(depth: 0) {
                guard fields.updateValue(value, forKey: name) == nil else { throw reader.error("a name twice") }
            }
            return fields
        }
    }

    /// Returns the offset of a name or an element that a path leads to, such as `["events", "Purchase", "enum", "0"]`.
    /// With an empty path, the offset of the first wrong byte, or of the end of the document.
    package static func offset(of path: [String], in bytes: some Collection<UInt8>) -> Int {
        var reader = JSONReader(bytes: Array(bytes))
        reader.skipSpace()
        do throws(SluiceError) {
            if path.isEmpty { _ = try reader.value(depth: 0) } else { try reader.seek(path[...]) }
        } catch {}  // It stands at the wrong byte.
        return reader.position
    }

    /// Moves from the beginning of a value to the place that a path leads to.
    private mutating func seek(_ path: ArraySlice<String>) throws(SluiceError) {
        let isObject = isAt("{")
        guard let step = path.first, isObject || isAt("[") else { return }
        var index = 0
        position += 1
        repeat {
            skipSpace()
            let start = position
            var name = "\(index)"
            if isObject {
                guard isAt("\"") else { return }
                name = try string()
                skipSpace()
                try expect(":")
                skipSpace()
            }
            if name == step {
                if path.count > 1 { return try seek(path.dropFirst()) }
                position = start
                return
            }
            _ = try value(depth: 0)
            index += 1
            skipSpace()
        } while skip(",")
    }

    private static func read<Content>(
        _ bytes: some Collection<UInt8>,
        _ body: (inout JSONReader) throws(SluiceError) -> Content
    ) throws(SluiceError) -> Content {
        var reader = JSONReader(bytes: Array(bytes))
        reader.skipSpace()
        let content = try body(&reader)
        reader.skipSpace()
        guard reader.position == reader.bytes.count else { throw reader.error("more than one value") }
        return content
    }

    private func error(_ problem: String) -> SluiceError {
        SluiceError(.malformedLine, "not JSON that can be read: \(problem) at byte \(position)")
    }

    private mutating func skipSpace() {
        while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) {
            position += 1
        }
    }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard isAt(character) else { return false }
        position += 1
        return true
    }

    private mutating func expect(_ character: Unicode.Scalar) throws(SluiceError) {
        guard skip(character) else { throw error("no \(character)") }
    }

    private mutating func value(depth: Int) throws(SluiceError) -> PropertyValue {
        guard position < bytes.count else { throw error("the end comes too early") }
        switch bytes[position] {
        case UInt8(ascii: "{"): return .object(try object(depth: depth + 1))
        case UInt8(ascii: "["): return .array(try array(depth: depth + 1))
        case UInt8(ascii: "\""):
            let value = try stringOrDate()
            // Properties and arrays would truncate it.
            guard depth == 0 || value.fitsIntoContainers else { throw error("an overlong string ends") }
            return value
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
        var pairs: [(String, PropertyValue)] = []
        try list(until: "}") { (reader) throws(SluiceError) in
            guard reader.isAt("\"") else { throw reader.error("no name") }
            let name = try reader.string()
            reader.skipSpace()
            try reader.expect(":")
            reader.skipSpace()
            pairs.append((name, try reader.value(depth: depth)))
        }
        return pairs
    }

    private mutating func array(depth: Int) throws(SluiceError) -> PropertyArray {
        guard depth <= PropertyValue.maximumDepth else { throw error("too deep a nesting") }
        var elements: [PropertyValue] = []
        try list(until: "]") { (reader) throws(SluiceError) in elements.append(try reader.value(depth: depth)) }
        return PropertyArray(elements)
    }

    /// Reads elements between commas, from the opening bracket through the closing one.
    private mutating func list(
        until end: Unicode.Scalar, _ element: (inout JSONReader) throws(SluiceError) -> Void
    ) throws(SluiceError) {
        position += 1
        skipSpace()
        if skip(end) { return }
        repeat {
            skipSpace()
            try element(&self)
            skipSpace()
        } while skip(",")
        try expect(end)
    }

    private mutating func number() throws(SluiceError) -> PropertyValue {
        let start = position
        _ = skip("-")
        if !skip("0") { try digits() }
        var isInteger = true
        if skip(".") {
            isInteger = false
            try digits()
        }
        if skip("e") || skip("E") {
            isInteger = false
            if !skip("+") { _ = skip("-") }
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
            let date = bytes[start..<end].withUnsafeBufferPointer({ Timestamp(digits: $0) })
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

    /// Returns nil if decoding changes the bytes, because they are invalid UTF-8.
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
            guard position < bytes.count, let digit = hexadecimalDigit(bytes[position]) else {
                throw error("no hexadecimal digit")
            }
            value = value << 4 | UInt16(digit)
            position += 1
        }
        return value
    }
}

extension PropertyValue {
    fileprivate var fitsIntoContainers: Bool {
        guard case .string(let string) = self else { return true }
        return string.utf8.count <= PropertyValue.maximumStringBytes
    }
}

extension PropertyValue {
    /// Reads a JSON document (RFC 8259), such as the body of a response.
    ///
    /// ```swift
    /// let value = try PropertyValue(json: Array(#"{"status":"ok"}"#.utf8))
    /// ```
    ///
    /// - Parameter bytes: UTF-8.
    /// - Throws: ``SluiceError/Code/malformedLine`` if the bytes aren't one JSON value, contain a name twice or an integer
    ///   beyond 64 bits, or are nested too deeply for a property.
    public init(json bytes: some Collection<UInt8>) throws(SluiceError) { self = try JSONReader.value(of: bytes) }
}
