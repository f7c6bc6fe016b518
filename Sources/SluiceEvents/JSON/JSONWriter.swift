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
///
/// A writer can't be copied. Its ``bytes`` can.
public struct JSONWriter: ~Copyable, @unchecked Sendable {
    // @unchecked: pointers aren't Sendable, and only the writer uses their memory as long as it exists.
    //
    // Pointers instead of an array, which would cost a check of its uniqueness for every comma. Each piece checks only
    // once whether there is room for the longest text that it can become.
    private var start: UnsafeMutableRawPointer
    private var position: UnsafeMutableRawPointer
    private var end: UnsafeMutableRawPointer
    private var ownsMemory: Bool
    private let limit: Int
    /// Whether a date is marked, so that ``JSONReader`` recognizes it.
    private let marksDates: Bool
    /// Whether the limit was reached, so that nothing more is written.
    private var isFull = false

    /// Creates an empty writer.
    public init() {
        self.init(limit: .max)
    }

    /// Creates a writer that reserves `capacity` bytes and keeps at most `limit`.
    package init(capacity: Int = 512, limit: Int = .max, marksDates: Bool = true) {
        let capacity = max(1, min(capacity, limit))
        start = .allocate(byteCount: capacity, alignment: 1)
        position = start
        end = start + capacity
        ownsMemory = true
        self.limit = limit
        self.marksDates = marksDates
    }

    /// Creates a writer that uses memory of the caller until it needs more.
    private init(_ memory: UnsafeMutableRawPointer, _ capacity: Int, limit: Int) {
        start = memory
        position = memory
        end = memory + capacity
        ownsMemory = false
        self.limit = limit
        marksDates = true
    }

    deinit {
        if ownsMemory { start.deallocate() }
    }

    /// Writes into an array, and takes the memory that the array has already, unless its size is very different from
    /// `capacity`. If something else refers to that memory, the array gets new memory.
    ///
    /// - Returns: the number of bytes, which are the first ones of the array. Nil if they are more than `limit`.
    @inline(__always)
    static func write(
        into array: inout [UInt8], capacity: Int, limit: Int, _ body: (inout JSONWriter) -> Void
    ) -> Int? {
        if !(capacity...2 * capacity).contains(array.count) {
            array = [UInt8](repeating: 0, count: max(1, min(capacity, limit)))
        }
        var larger: [UInt8]?
        let count: Int? = array.withUnsafeMutableBytes { memory in
            guard let base = memory.baseAddress else { return nil }
            var writer = JSONWriter(base, memory.count, limit: limit)
            body(&writer)
            if writer.ownsMemory, !writer.isOverfull { larger = writer.bytes }
            return writer.isOverfull ? nil : writer.count
        }
        if let larger { array = larger }
        return count
    }

    private var count: Int { position - start }

    /// Whether more than the limit was written. The rest is missing then.
    package var isOverfull: Bool { isFull || count > limit }

    /// The bytes written so far.
    ///
    /// - Complexity: O(count).
    public var bytes: [UInt8] { withBytes { Array($0) } }

    /// Passes the bytes written so far.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        body(UnsafeRawBufferPointer(start: start, count: max(0, min(count, limit))))
    }

    /// Writes JSON as it is, such as `null` or the parts of a stream between objects.
    @inline(__always)
    public mutating func raw(_ text: StaticString) {
        text.withUTF8Buffer { append(UnsafeRawBufferPointer($0)) }
    }

    /// Writes bytes that are JSON, such as those of an ``EventLine``.
    public mutating func raw(_ source: some Collection<UInt8>) {
        let isDone: Void? = source.withContiguousStorageIfAvailable { append(UnsafeRawBufferPointer($0)) }
        if isDone == nil { Array(source).withUnsafeBytes { append($0) } }
    }

    /// Writes a value of any type. A NaN, an infinity or a date outside ``Timestamp/writable`` becomes null.
    public mutating func value(_ value: PropertyValue) {
        switch value {
        case .string(let string): text(string)
        case .int(let int): digits(of: int)
        case .double(let double): number(double)
        case .bool(let bool): bool ? raw("true") : raw("false")
        case .date(let date): self.date(date)
        case .array(let array):
            raw("[")
            for (index, element) in array.enumerated() {
                if isFull { return }
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
        // Through a pointer, because a copy of a name or a value would cost reference counting.
        properties.pairs.withUnsafeBufferPointer { own in
            let blockStart = properties.blockStart
            pairs(own, 0..<blockStart, isFirst: true)
            if let block = properties.block {
                if blockStart > 0 { raw(",") }
                if marksDates { raw(block.json) } else { pairs(block.pairs, isFirst: true) }
            }
            pairs(own, blockStart..<own.count, isFirst: blockStart == 0 && properties.block == nil)
        }
        raw("}")
    }

    /// `isFirst` is whether they are the first in their object.
    mutating func pairs(_ pairs: [Properties.Pair], isFirst: Bool) {
        pairs.withUnsafeBufferPointer { self.pairs($0, $0.indices, isFirst: isFirst) }
    }

    private mutating func pairs(_ pairs: UnsafeBufferPointer<Properties.Pair>, _ indices: Range<Int>, isFirst: Bool) {
        guard let first = pairs.baseAddress else { return }
        for index in indices where !isFull {
            let isFirst = isFirst && index == indices.lowerBound
            if let length = PlainJSON.write(first + index, to: position, end - position, isFirst: isFirst) {
                position += length
            } else {
                name(pairs[index].0, isFirst: isFirst)
                value(pairs[index].1)
            }
        }
    }

    /// Writes an integer of any width.
    public mutating func integer(_ value: some BinaryInteger) {
        if let value = Int64(exactly: value) { return digits(of: value) }
        raw(value.description.utf8)
    }

    /// Writes a double with the fewest digits that read back as the same double, and always with a point or an
    /// exponent, which distinguish it from an integer.
    package mutating func number(_ value: Double) {
        guard hasRoom(for: JSONNumber.maximumLength) else { return }
        if let length = JSONNumber.writeDecimal(value, to: position) {
            position += length
        } else {
            otherNumber(value)
        }
    }

    @inline(never)
    private mutating func otherNumber(_ value: Double) {
        if value.isFinite { raw(value.description.utf8) } else { raw("null") }
    }

    /// Writes a string in quotes, and escapes quotes, backslashes and control characters.
    public mutating func string(_ value: String) {
        text(value)
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

    @inline(__always)
    mutating func id(_ id: EventID) {
        raw("\"")
        append(EventID.textLength) { id.write(into: $0) }
        raw("\"")
    }

    // MARK: Pieces

    /// Whether a comma must come before the next member: not after the opening brace.
    var needsComma: Bool {
        position > start && (position - 1).load(as: UInt8.self) != UInt8(ascii: "{")
    }

    /// Writes the name of a pair, with its comma and colon.
    mutating func name(_ name: String, isFirst: Bool) {
        text(name, comma: !isFirst, colon: true)
    }

    @inline(__always)
    private mutating func digits(of value: Int64) {
        guard hasRoom(for: JSONNumber.maximumLength) else { return }
        position += JSONNumber.write(value, to: position)
    }

    /// Writes text in quotes, with a comma before or a colon after it.
    @inline(__always)
    private mutating func text(_ text: String, comma: Bool = false, colon: Bool = false) {
        if let length = PlainJSON.write(text, to: position, end - position, comma: comma, colon: colon) {
            position += length
        } else {
            otherText(text, comma: comma, colon: colon)
        }
    }

    /// Writes text that ``PlainJSON`` can't write, or for which there is no room yet.
    @inline(never)
    private mutating func otherText(_ text: String, comma: Bool, colon: Bool) {
        var text = text
        text.withUTF8 { utf8 in
            guard hasRoom(for: utf8.count + 4) else { return }
            if let length = PlainJSON.write(utf8, to: position, .max, comma: comma, colon: colon) {
                position += length
            } else {
                escaped(utf8, comma: comma, colon: colon)
            }
        }
    }

    @inline(never)
    private mutating func escaped(_ utf8: UnsafeBufferPointer<UInt8>, comma: Bool, colon: Bool) {
        raw(comma ? ",\"" : "\"")
        var start = 0
        for index in utf8.indices {
            guard let escape = JSONEscaping.escape(for: utf8[index]) else { continue }
            append(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(utf8)[start..<index]))
            raw(escape)
            start = index + 1
        }
        append(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(utf8)[start...]))
        raw(colon ? "\":" : "\"")
    }

    // MARK: The memory

    @inline(__always)
    private mutating func append(_ source: UnsafeRawBufferPointer) {
        append(source.count) { target in
            UnsafeMutableRawBufferPointer(target).copyMemory(from: source)
        }
    }

    /// Lets `fill` write exactly `length` bytes at the end.
    @inline(__always)
    private mutating func append(_ length: Int, _ fill: (UnsafeMutableBufferPointer<UInt8>) -> Void) {
        guard hasRoom(for: length) else { return }
        fill(UnsafeMutableBufferPointer(start: position.assumingMemoryBound(to: UInt8.self), count: length))
        position += length
    }

    /// Makes room for `length` bytes, unless a piece that asks for them certainly exceeds the limit.
    @inline(__always)
    private mutating func hasRoom(for length: Int) -> Bool {
        end - position >= length || grow(by: length)
    }

    /// The most bytes by which a piece can be shorter than the room that it asks for.
    private static let slack = JSONNumber.maximumLength

    @inline(never)
    private mutating func grow(by length: Int) -> Bool {
        let needed = count + length
        guard !isFull, needed - JSONWriter.slack <= limit else {
            isFull = true
            end = position
            return false
        }
        let capacity = max(needed, min(2 * (end - start), limit))
        let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 1)
        larger.copyMemory(from: start, byteCount: count)
        if ownsMemory { start.deallocate() }
        (start, position, end, ownsMemory) = (larger, larger + count, larger + capacity, true)
        return true
    }
}
