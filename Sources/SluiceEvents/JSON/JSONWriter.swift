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
public struct JSONWriter: ~Copyable, Sendable {
    private var buffer: JSONBuffer
    /// Whether a date is marked for ``JSONReader``, which then recognizes it.
    private let marksDates: Bool

    /// Creates an empty writer.
    public init() {
        self.init(limit: .max, marksDates: false)
    }

    /// Creates a writer that reserves `capacity` bytes and keeps at most `limit`.
    package init(capacity: Int = 512, limit: Int = .max, marksDates: Bool = true) {
        buffer = JSONBuffer(capacity: capacity, limit: limit)
        self.marksDates = marksDates
    }

    /// Creates a writer that uses memory of the caller until it needs more.
    private init(_ memory: UnsafeMutableRawPointer, _ capacity: Int, limit: Int) {
        buffer = JSONBuffer(memory, capacity, limit: limit)
        marksDates = true
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
            if writer.isOverfull { return nil }
            if writer.buffer.ownsMemory { larger = writer.bytes }
            return writer.buffer.count
        }
        if let larger { array = larger }
        return count
    }

    /// Whether more than the limit was written. The rest is missing then.
    package var isOverfull: Bool { buffer.isOverfull }

    /// The bytes written so far.
    ///
    /// - Complexity: O(count).
    public var bytes: [UInt8] { withBytes { Array($0) } }

    /// The number of bytes written so far, which can exceed the limit by a few.
    var count: Int { buffer.count }

    /// Passes the bytes written so far.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result { buffer.withBytes(body) }

    /// Writes JSON as it is, such as `null` or the parts of a stream between objects.
    ///
    /// ```swift
    /// writer.raw("null")
    /// ```
    @inline(__always)
    public mutating func raw(_ text: StaticString) {
        buffer.append(text)
    }

    /// Writes bytes that are JSON, such as the bytes of an ``EventLine``.
    public mutating func raw(_ source: some Collection<UInt8>) {
        let isDone: Void? = source.withContiguousStorageIfAvailable { buffer.append(UnsafeRawBufferPointer($0)) }
        if isDone == nil { Array(source).withUnsafeBytes { buffer.append($0) } }
    }

    /// Writes a value of any type. A NaN, an infinity or a date outside ``Timestamp/writable`` becomes null.
    public mutating func value(_ value: PropertyValue) {
        switch value {
        case .string(let string): buffer.text(string)
        case .int(let int): buffer.integer(int)
        case .double(let double): buffer.number(double)
        case .bool(let bool): bool ? raw("true") : raw("false")
        case .date(let date): self.date(date)
        case .array(let array): self.array(array) { $0.value($1) }
        case .object(let object): self.object(object)
        case .null: raw("null")
        }
    }

    /// Writes an object.
    public mutating func object(_ properties: Properties) { object(properties, without: nil) }

    /// Writes an object without the properties that have one of `names`.
    @inline(__always)
    package mutating func object(_ properties: Properties, without names: NameSet?) {
        let start = buffer.count
        let storage = properties.storage
        // Through a pointer, because a copy of a name or a value would cost reference counting.
        storage.pairs.withUnsafeBufferPointer { pairs in
            forEachRun(pairs, 0..<storage.blockStart, names) { $0.members(pairs, $1) }
            if let block = storage.block { members(block, names) }
            forEachRun(pairs, storage.blockStart..<pairs.count, names) { $0.members(pairs, $1) }
        }
        if buffer.count == start { return raw("{}") }
        // Each member begins with a comma.
        buffer.replace(start, UInt8(ascii: "{"))
        raw("}")
    }

    private mutating func members(_ block: SharedProperties, _ names: NameSet?) {
        block.pairs.withUnsafeBufferPointer { pairs in
            forEachRun(pairs, pairs.indices, names) { writer, run in
                if writer.marksDates || !block.hasDates {
                    block.withJSON(of: run) { writer.buffer.append($0) }
                } else {
                    writer.members(pairs, run)
                }
            }
        }
    }

    /// Passes the longest ranges of pairs that have none of `names`.
    @inline(__always)
    private mutating func forEachRun(
        _ pairs: UnsafeBufferPointer<PropertyStorage.Pair>, _ indices: Range<Int>, _ names: NameSet?,
        _ write: (inout JSONWriter, Range<Int>) -> Void
    ) {
        var start = indices.lowerBound
        if let names {
            for index in indices where names.contains(pairs[index].0) {
                if start < index { write(&self, start..<index) }
                start = index + 1
            }
        }
        if start < indices.upperBound { write(&self, start..<indices.upperBound) }
    }

    /// Writes pairs, each with a comma before it.
    mutating func members(_ pairs: UnsafeBufferPointer<PropertyStorage.Pair>, _ indices: Range<Int>) {
        guard let first = pairs.baseAddress else { return }
        var rest = indices
        while true {
            let next = buffer.plain(first, rest)
            if next == rest.upperBound || buffer.isFull { return }
            name(pairs[next].0, comma: true)
            value(pairs[next].1)
            rest = next + 1..<rest.upperBound
        }
    }

    /// Writes an integer of any width.
    public mutating func integer(_ value: some BinaryInteger) {
        if let value = Int64(exactly: value) { return buffer.integer(value) }
        raw(value.description.utf8)
    }

    /// Writes a string in quotes, and escapes quotes, backslashes and control characters.
    public mutating func string(_ value: String) {
        buffer.text(value)
    }

    /// Writes a date in ISO 8601, such as `"2026-11-21T05:55:16.123\u005a"`.
    ///
    /// Every JSON reader decodes this as a string with a plain Z. ``JSONReader`` recognizes a date by the escape, which
    /// ``string(_:)`` never writes for a Z.
    package mutating func date(_ date: Timestamp) {
        guard Timestamp.writable.contains(date) else { return raw("null") }
        raw("\"")
        buffer.append(Timestamp.digitsLength) { date.writeDigits(into: $0) }
        marksDates ? raw(#"\u005a""#) : raw("Z\"")
    }

    /// Writes a string behind a text. Nil writes nothing.
    @inline(__always)
    mutating func string(_ value: String?, after text: StaticString) {
        guard let value else { return }
        raw(text)
        string(value)
    }

    @inline(__always)
    mutating func id(_ id: EventID) {
        raw("\"")
        buffer.append(EventID.textLength) { id.write(into: $0) }
        raw("\"")
    }

    // MARK: Members

    /// Whether a comma must come before the next member: not after the opening brace.
    var needsComma: Bool {
        buffer.last.map { $0 != UInt8(ascii: "{") } ?? false
    }

    /// Writes the name of a member and its colon.
    mutating func name(_ name: String, comma: Bool) {
        buffer.text(name, comma: comma, colon: true)
    }
}
