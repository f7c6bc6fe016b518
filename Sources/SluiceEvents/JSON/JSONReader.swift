/// A strict reader of JSON (RFC 8259). Any other reader accepts the documents that it accepts, with the same meaning.
///
/// It rejects invalid UTF-8, duplicate names, lone surrogates, integers beyond 64 bits, trailing bytes, strings in
/// containers that are longer than ``PropertyValue/maximumStringBytes``, and values below ``PropertyValue/maximumDepth``,
/// which also bounds its recursion. Names that differ only in Unicode normalization are duplicates.
package struct JSONReader {
    // A pointer, because the checks and retains of an array would take as long as the rest. All accesses go through
    // ``next`` and ``text(from:)``, which check the position.
    let bytes: UnsafeBufferPointer<UInt8>
    var position = 0
    /// Whether the bytes so far are the ones that ``JSONWriter`` writes for a store. False if the caller doesn't need to know.
    var isCanonical: Bool
    private var hasDates = false
    /// The ends of the members of the last object of the first level, from its beginning.
    private var ends: [Int] = []

    private init(_ bytes: UnsafeBufferPointer<UInt8>, keepsJSON: Bool = false) {
        self.bytes = bytes
        isCanonical = keepsJSON
    }

    /// Reads one document.
    ///
    /// - Throws: ``SluiceError/Code/malformedLine`` with the offset of the first wrong byte.
    package static func value(of bytes: some Collection<UInt8>) throws(SluiceError) -> PropertyValue {
        try read(bytes, keepsJSON: false) { (reader) throws(SluiceError) in try reader.value(depth: 0) }
    }

    /// Reads one object. Its own level doesn't count toward the depth.
    package static func fields(of bytes: some Collection<UInt8>) throws(SluiceError) -> [String: PropertyValue] {
        Dictionary(uniqueKeysWithValues: try members(of: bytes))
    }

    /// Reads the members of one object in order. Its own level doesn't count toward the depth.
    ///
    /// With `keepsJSON`, objects among them keep their JSON if a writer would write the same, so it isn't encoded once more.
    static func members(
        of bytes: some Collection<UInt8>, keepsJSON: Bool = false
    ) throws(SluiceError) -> [(String, PropertyValue)] {
        try read(bytes, keepsJSON: keepsJSON) { (reader) throws(SluiceError) in
            guard reader.isAt("{") else { throw reader.error("no object") }
            let members = try reader.pairs(depth: 0)
            guard !PropertyStorage.hasDuplicates(members) else { throw reader.error("a name twice") }
            return members
        }
    }

    /// Returns the offset of a name or an element that a path leads to, such as `["events", "Purchase", "enum", "0"]`.
    /// With an empty path, the offset of the first wrong byte, or of the end of the document.
    package static func offset(of path: [String], in bytes: some Collection<UInt8>) -> Int {
        Array(bytes).withUnsafeBufferPointer { bytes in
            var reader = JSONReader(bytes)
            reader.skipSpace()
            do throws(SluiceError) {
                if path.isEmpty { _ = try reader.value(depth: 0) } else { try reader.seek(path[...]) }
            } catch {}  // It stands at the wrong byte.
            return reader.position
        }
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
        _ bytes: some Collection<UInt8>, keepsJSON: Bool,
        _ body: (inout JSONReader) throws(SluiceError) -> Content
    ) throws(SluiceError) -> Content {
        func read(_ bytes: UnsafeBufferPointer<UInt8>) -> Result<Content, SluiceError> {
            Result { () throws(SluiceError) in
                var reader = JSONReader(bytes, keepsJSON: keepsJSON)
                reader.skipSpace()
                let content = try body(&reader)
                reader.skipSpace()
                guard reader.isAtEnd else { throw reader.error("more than one value") }
                return content
            }
        }
        return try (bytes.withContiguousStorageIfAvailable(read) ?? Array(bytes).withUnsafeBufferPointer(read)).get()
    }

    func error(_ problem: String) -> SluiceError {
        SluiceError(.malformedLine, "not JSON that can be read: \(problem) at byte \(position)")
    }

    // MARK: Bytes

    var isAtEnd: Bool { position >= bytes.count }

    /// The next byte. At the end, a zero, which is in no JSON.
    var next: UInt8 { isAtEnd ? 0 : bytes[position] }

    @inline(__always)
    func isAt(_ character: Unicode.Scalar) -> Bool { next == UInt8(ascii: character) }

    func text(from start: Int) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: bytes[start..<position])
    }

    @inline(__always)
    private mutating func skipSpace() { if next <= 0x20 { skipSpaces() } }

    private mutating func skipSpaces() {
        while !isAtEnd, next <= 0x20, [0x20, 0x09, 0x0A, 0x0D].contains(next) {
            position += 1
            isCanonical = false
        }
    }

    @inline(__always)
    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard isAt(character) else { return false }
        position += 1
        return true
    }

    @inline(__always)
    mutating func expect(_ character: Unicode.Scalar) throws(SluiceError) {
        guard skip(character) else { throw error("no \(character)") }
    }

    /// Skips a text if it comes next.
    mutating func skip(text: StaticString) -> Bool {
        let rest = UnsafeBufferPointer(rebasing: bytes[position...])
        guard text.withUTF8Buffer({ rest.starts(with: $0) }) else { return false }
        position += text.utf8CodeUnitCount
        return true
    }

    // MARK: Values

    private mutating func value(depth: Int) throws(SluiceError) -> PropertyValue {
        guard !isAtEnd else { throw error("the end comes too early") }
        switch next {
        case UInt8(ascii: "{"): return .object(try object(depth: depth + 1))
        case UInt8(ascii: "["): return .array(try array(depth: depth + 1))
        case UInt8(ascii: "\""):
            if let date = date() {
                hasDates = true
                return .date(date)
            }
            let string = try string()
            // Properties and arrays would truncate it.
            guard depth == 0 || string.utf8.count <= PropertyValue.maximumStringBytes else {
                throw error("an overlong string ends")
            }
            return .string(string)
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func word(_ word: StaticString, _ value: PropertyValue) throws(SluiceError) -> PropertyValue {
        guard skip(text: word) else { throw error("an unknown word") }
        return value
    }

    private mutating func object(depth: Int) throws(SluiceError) -> Properties {
        guard depth <= PropertyValue.maximumDepth else { throw error("too deep a nesting") }
        let start = position
        let pairs = try pairs(depth: depth)
        let result = Properties(pairs)
        guard result.count == pairs.count else { throw error("a name twice or overlong in the object that ends") }
        guard isCanonical, depth == 1, !pairs.isEmpty, result.bounds.sanitizations.isEmpty else { return result }
        let block = SharedProperties(result.storage, text(from: start), ends, hasDates: hasDates)
        return Properties(PropertyStorage(block))
    }

    private mutating func pairs(depth: Int) throws(SluiceError) -> [(String, PropertyValue)] {
        var pairs: [(String, PropertyValue)] = []
        let start = position
        if isEmpty(until: "}") { return pairs }
        pairs.reserveCapacity(depth == 1 ? 32 : 8)
        if depth == 1 {
            ends = []
            ends.reserveCapacity(33)
            ends.append(0)
        }
        repeat {
            skipSpace()
            guard isAt("\"") else { throw error("no name") }
            let name = try string()
            skipSpace()
            try expect(":")
            skipSpace()
            pairs.append((name, try value(depth: depth)))
            if depth == 1 { ends.append(position - start) }
            skipSpace()
        } while skip(",")
        try expect("}")
        return pairs
    }

    private mutating func array(depth: Int) throws(SluiceError) -> PropertyArray {
        guard depth <= PropertyValue.maximumDepth else { throw error("too deep a nesting") }
        var elements: [PropertyValue] = []
        if isEmpty(until: "]") { return [] }
        repeat {
            skipSpace()
            elements.append(try value(depth: depth))
            skipSpace()
        } while skip(",")
        try expect("]")
        return PropertyArray(elements)
    }

    /// Skips the opening bracket, and returns whether the closing one comes next, which is skipped, too.
    private mutating func isEmpty(until end: Unicode.Scalar) -> Bool {
        position += 1
        skipSpace()
        return skip(end)
    }

    // MARK: Numbers

    private mutating func number() throws(SluiceError) -> PropertyValue {
        let start = position
        let isNegative = skip("-")
        var number = JSONNumber.Digits()
        if !skip("0") { try digits(&number) }
        var isInteger = true
        if skip(".") {
            isInteger = false
            number.decimals = try digits(&number)
        }
        if skip("e") || skip("E") {
            isInteger = false
            number.overflows = true
            if !skip("+") { _ = skip("-") }
            _ = try digits(&number)
        }
        if isInteger {
            guard let int = number.integer(isNegative: isNegative) else { throw error("an integer beyond 64 bits") }
            if isNegative, int == 0 { isCanonical = false }
            return .int(int)
        }
        let text = text(from: start)
        let double = number.decimal(isNegative: isNegative) ?? Double(String(decoding: text, as: UTF8.self))
        guard let double, double.isFinite else { throw error("a number beyond a double") }
        if isCanonical { isCanonical = JSONNumber.isText(text, of: double) }
        return .double(double)
    }

    /// Returns how many digits come next.
    @discardableResult
    private mutating func digits(_ number: inout JSONNumber.Digits) throws(SluiceError) -> Int {
        let start = position
        while case let digit = next &- UInt8(ascii: "0"), digit < 10 {
            number.append(digit)
            position += 1
        }
        guard position > start else { throw error("no digit") }
        return position - start
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
