/// Writes JSON into a buffer. Use this for the request body of a wire format.
///
/// ```swift
/// var writer = JSONWriter()
/// writer.object {
///     $0["event"] = "Purchase"
///     $0.array("items", [1, 2]) { $0.integer($1) }
/// }
/// ```
///
/// `object` and `array` write the braces, brackets and commas. Inside an object, each member has a name.
public struct JSONWriter: Sendable {
    // Initialized beyond `count`, so that bytes are copied into place. Array's append would cost a call, a
    // uniqueness check and a capacity check for every comma.
    private var buffer: [UInt8]
    private var count = 0
    private let limit: Int
    /// Whether a date is marked, so that ``JSONReader`` recognizes it.
    private let marksDates: Bool

    /// Whether the limit was reached. The rest is missing then.
    package private(set) var isOverfull = false

    /// Creates an empty writer.
    public init() {
        self.init(limit: .max)
    }

    /// Creates a writer that reserves `capacity` bytes and writes at most `limit`.
    package init(capacity: Int = 512, limit: Int = .max, marksDates: Bool = true) {
        self.limit = limit
        self.marksDates = marksDates
        buffer = [UInt8](repeating: 0, count: max(0, min(capacity, limit)))
    }

    /// Creates a writer that takes the buffer of an earlier one, unless its size is very different from `capacity`. If
    /// something still refers to that buffer, the writer copies it.
    init(capacity: Int, limit: Int, reusing spare: inout [UInt8]) {
        self.limit = limit
        marksDates = true
        if !(capacity...2 * capacity).contains(spare.count) {
            spare = [UInt8](repeating: 0, count: min(capacity, limit))
        }
        buffer = []
        swap(&buffer, &spare)
    }

    /// The bytes written so far.
    ///
    /// - Complexity: O(count).
    public var bytes: [UInt8] { Array(written) }

    /// The bytes without a copy, as long as nothing more is written.
    var written: ArraySlice<UInt8> { buffer[..<count] }

    /// Gives its buffer to a later writer.
    consuming func end(for spare: inout [UInt8]) { spare = buffer }

    /// Writes JSON as it is, such as `null` or the parts of a stream between objects.
    @inline(__always)
    public mutating func raw(_ text: StaticString) {
        text.withUTF8Buffer { append($0) }
    }

    /// Writes bytes that are JSON, such as those of an ``EventLine``.
    public mutating func raw(_ source: some Collection<UInt8>) {
        let isDone: Void? = source.withContiguousStorageIfAvailable { append($0) }
        if isDone == nil { Array(source).withUnsafeBufferPointer { append($0) } }
    }

    /// Writes a value of any type. A NaN, an infinity or a date outside ``Timestamp/writable`` becomes null.
    public mutating func value(_ value: PropertyValue) {
        switch value {
        case .string(let string): self.string(string)
        case .int(let int): digits(of: int)
        case .double(let double): number(double)
        case .bool(let bool): bool ? raw("true") : raw("false")
        case .date(let date): self.date(date)
        case .array(let array):
            raw("[")
            for (index, element) in array.enumerated() {
                if isOverfull { return }
                if index > 0 { raw(",") }
                self.value(element)
            }
            raw("]")
        case .object(let object): self.object(object)
        case .null: raw("null")
        }
    }

    /// Writes an object.
    public mutating func object(_ properties: Properties) {
        raw("{")
        let blockStart = properties.blockStart
        pairs(properties.pairs[..<blockStart], isFirst: true)
        if let block = properties.block {
            if blockStart > 0 { raw(",") }
            if marksDates { raw(block.json) } else { pairs(block.pairs[...], isFirst: true) }
        }
        pairs(properties.pairs[blockStart...], isFirst: blockStart == 0 && properties.block == nil)
        raw("}")
    }

    /// `isFirst` is whether they are the first in their object.
    mutating func pairs(_ pairs: ArraySlice<Properties.Pair>, isFirst: Bool) {
        // Through a pointer, because a copy of a name or a value would cost reference counting.
        pairs.withUnsafeBufferPointer { pairs in
            var index = 0
            while index < pairs.count, !isOverfull {
                index = plainPairs(pairs, from: index, isFirst: isFirst)
                guard index < pairs.count else { return }
                name(pairs[index].0, isFirst: isFirst && index == 0)
                value(pairs[index].1)
                index += 1
            }
        }
    }

    /// Writes pairs up to the first one that ``PlainJSON`` can't write.
    ///
    /// - Returns: the index of that pair.
    private mutating func plainPairs(
        _ pairs: UnsafeBufferPointer<Properties.Pair>, from start: Int, isFirst: Bool
    ) -> Int {
        let end = min(limit, buffer.count)
        var (index, count) = (start, count)
        buffer.withUnsafeMutableBytes { buffer in
            guard let base = buffer.baseAddress, let first = pairs.baseAddress else { return }
            var plain = PlainJSON(base + count, until: base + end)
            while index < pairs.count, plain.write(first + index, isFirst: isFirst && index == 0) { index += 1 }
            count = plain.position - base
        }
        self.count = count
        return index
    }

    /// Writes an integer of any width.
    public mutating func integer(_ value: some BinaryInteger) {
        if let value = Int64(exactly: value) { return digits(of: value) }
        raw(value.description.utf8)
    }

    /// Writes a double with the fewest digits that read back as the same double, and always with a point or an
    /// exponent, which distinguish it from an integer.
    package mutating func number(_ value: Double) {
        guard value.isFinite else { return raw("null") }
        let isDone = append(upTo: JSONNumber.maximumLength) { JSONNumber.writeDecimal(value, to: $0) }
        if !isDone { raw(value.description.utf8) }
    }

    /// Writes a string in quotes, and escapes quotes, backslashes and control characters.
    public mutating func string(_ value: String) {
        withUTF8(of: value) { writer, utf8 in writer.quoted(utf8) }
    }

    /// Writes a date in ISO 8601, such as `"2026-11-21T05:55:16.123\u005a"`.
    ///
    /// Every JSON reader decodes this as a string with a plain Z. ``JSONReader`` recognizes a date by the escape, which
    /// ``string(_:)`` never writes for a Z.
    package mutating func date(_ date: Timestamp) {
        guard Timestamp.writable.contains(date) else { return raw("null") }
        raw("\"")
        append(Timestamp.digitsLength) { date.writeDigits(into: $0) }
        marksDates ? raw(#"\u005a""#) : raw("Z\"")
    }

    mutating func id(_ id: EventID) {
        raw("\"")
        append(EventID.textLength) { id.write(into: $0) }
        raw("\"")
    }

    // MARK: Pieces

    /// Whether a comma must come before the next member: not after the opening brace.
    var needsComma: Bool { count > 0 && buffer[count - 1] != UInt8(ascii: "{") }

    /// Writes the name of a pair, with its comma and colon.
    mutating func name(_ name: String, isFirst: Bool) {
        withUTF8(of: name) { writer, utf8 in writer.quoted(utf8, comma: !isFirst, colon: true) }
    }

    private mutating func digits(of value: Int64) {
        _ = append(upTo: JSONNumber.maximumLength) { JSONNumber.write(value, to: $0) }
    }

    /// Passes the bytes of a string to `body`. Only a string bridged from Objective-C is copied.
    @inline(__always)
    private mutating func withUTF8(
        of text: String, _ body: (inout JSONWriter, UnsafeBufferPointer<UInt8>) -> Void
    ) {
        let isDone: Void? = text.utf8.withContiguousStorageIfAvailable { body(&self, $0) }
        if isDone != nil { return }
        var native = text
        native.withUTF8 { body(&self, $0) }
    }

    /// Writes text in quotes, with a comma before or a colon after it.
    @inline(__always)
    private mutating func quoted(_ utf8: UnsafeBufferPointer<UInt8>, comma: Bool = false, colon: Bool = false) {
        let isDone = append(upTo: utf8.count + 4) { PlainJSON.write(utf8, to: $0, comma: comma, colon: colon) }
        if !isDone { escaped(utf8, comma: comma, colon: colon) }
    }

    @inline(never)
    private mutating func escaped(_ utf8: UnsafeBufferPointer<UInt8>, comma: Bool, colon: Bool) {
        raw(comma ? ",\"" : "\"")
        var start = 0
        for index in utf8.indices {
            guard let escape = JSONEscaping.escape(for: utf8[index]) else { continue }
            append(UnsafeBufferPointer(rebasing: utf8[start..<index]))
            raw(escape)
            start = index + 1
        }
        append(UnsafeBufferPointer(rebasing: utf8[start...]))
        raw(colon ? "\":" : "\"")
    }

    // MARK: The buffer

    private mutating func append(_ source: UnsafeBufferPointer<UInt8>) {
        append(source.count) { JSONWriter.copy(source, to: $0, at: 0) }
    }

    /// Lets `fill` write exactly `length` bytes at the end, unless that exceeds the limit.
    @inline(__always)
    private mutating func append(_ length: Int, _ fill: (UnsafeMutableBufferPointer<UInt8>) -> Void) {
        guard !isOverfull, length <= limit - count else { return isOverfull = true }
        if length > buffer.count - count { grow(by: length) }
        let end = count + length
        buffer.withUnsafeMutableBufferPointer { fill(UnsafeMutableBufferPointer(rebasing: $0[count..<end])) }
        count = end
    }

    /// Lets `write` write at most `length` bytes at the end. It returns their number, or nil if it can't write the value.
    ///
    /// - Returns: false if `write` returned nil.
    @inline(__always)
    private mutating func append(upTo length: Int, _ write: (UnsafeMutableRawPointer) -> Int?) -> Bool {
        guard !isOverfull else { return true }
        if length > buffer.count - count { grow(by: length) }
        let written = buffer.withUnsafeMutableBytes { [count] in $0.baseAddress.flatMap { write($0 + count) } }
        guard let written else { return false }
        if written <= limit - count { count += written } else { isOverfull = true }
        return true
    }

    @inline(never)
    private mutating func grow(by length: Int) {
        buffer.append(contentsOf: repeatElement(0, count: max(length, buffer.count)))
    }

    @inline(__always)
    private static func copy(
        _ source: UnsafeBufferPointer<UInt8>, to target: UnsafeMutableBufferPointer<UInt8>, at offset: Int
    ) {
        UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(target)[offset...])
            .copyMemory(from: UnsafeRawBufferPointer(source))
    }
}
