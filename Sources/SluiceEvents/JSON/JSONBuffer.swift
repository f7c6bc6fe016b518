/// The scalars of JSON, in memory that grows up to a limit. ``JSONWriter`` adds the structure.
///
/// A buffer adds nothing: commas and braces are up to the caller. Once the limit is reached, it drops everything.
struct JSONBuffer: ~Copyable, @unchecked Sendable {
    // @unchecked: pointers aren't Sendable, and only the buffer uses their memory as long as it exists.
    //
    // Pointers instead of an array, which would cost a check of its uniqueness for every comma. Each piece checks only
    // once whether there is room for the longest text that it can become.
    private var start: UnsafeMutableRawPointer
    private var position: UnsafeMutableRawPointer
    private var end: UnsafeMutableRawPointer
    /// Whether the memory is the buffer's own. False for memory of the caller.
    private(set) var ownsMemory: Bool
    private let limit: Int
    /// Whether the limit was reached.
    private(set) var isFull = false

    /// Creates an empty buffer that reserves `capacity` bytes and keeps at most `limit`.
    init(capacity: Int, limit: Int) {
        let capacity = max(1, min(capacity, limit))
        self.init(.allocate(byteCount: capacity, alignment: 1), capacity, limit: limit)
        ownsMemory = true
    }

    /// Creates a buffer that uses memory of the caller until it needs more.
    init(_ memory: UnsafeMutableRawPointer, _ capacity: Int, limit: Int) {
        start = memory
        position = memory
        end = memory + capacity
        ownsMemory = false
        self.limit = limit
    }

    deinit {
        if ownsMemory { start.deallocate() }
    }

    /// The number of bytes written so far, which can exceed the limit by a few.
    var count: Int { position - start }

    /// Whether more than the limit was written. The rest is missing then.
    var isOverfull: Bool { isFull || count > limit }

    /// The last byte; nil if nothing was written.
    var last: UInt8? { position > start ? (position - 1).load(as: UInt8.self) : nil }

    /// Replaces the byte at `offset`, if it was written.
    mutating func replace(_ offset: Int, _ byte: UInt8) {
        if offset < count { start.storeBytes(of: byte, toByteOffset: offset, as: UInt8.self) }
    }

    /// Passes the bytes written so far.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        body(UnsafeRawBufferPointer(start: start, count: max(0, min(count, limit))))
    }

    // MARK: Bytes

    @inline(__always)
    mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { append(UnsafeRawBufferPointer($0)) }
    }

    @inline(__always)
    mutating func append(_ source: UnsafeRawBufferPointer) {
        append(source.count) { target in
            UnsafeMutableRawBufferPointer(target).copyMemory(from: source)
        }
    }

    /// Lets `fill` write exactly `length` bytes at the end.
    @inline(__always)
    mutating func append(_ length: Int, _ fill: (UnsafeMutableBufferPointer<UInt8>) -> Void) {
        guard hasRoom(for: length) else { return }
        fill(UnsafeMutableBufferPointer(start: position.assumingMemoryBound(to: UInt8.self), count: length))
        position += length
    }

    // MARK: Scalars

    /// Writes pairs, each with a comma before it, until ``PlainJSON`` can't write one, or it doesn't fit.
    ///
    /// - Returns: The index of the first pair that wasn't written; `indices.upperBound` if all were.
    mutating func plain(_ pairs: UnsafePointer<PropertyStorage.Pair>, _ indices: Range<Int>) -> Int {
        var (index, target) = (indices.lowerBound, position)
        while index < indices.upperBound, let length = PlainJSON.write(pairs + index, to: target, end - target) {
            target += length
            index += 1
        }
        position = target
        return index
    }

    @inline(__always)
    mutating func integer(_ value: Int64) {
        guard hasRoom(for: JSONNumber.maximumLength) else { return }
        position += JSONNumber.write(value, to: position)
    }

    /// Writes a double with the fewest digits that read back as the same double, and always with a point or an exponent, which
    /// distinguish it from an integer. A NaN or an infinity becomes null.
    mutating func number(_ value: Double) {
        guard hasRoom(for: JSONNumber.maximumLength) else { return }
        if let length = JSONNumber.writeDecimal(value, to: position) {
            position += length
        } else {
            otherNumber(value)
        }
    }

    @inline(never)
    private mutating func otherNumber(_ value: Double) {
        guard value.isFinite else { return append("null") }
        var text = value.description
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    /// Writes text in quotes, with a comma before or a colon after it.
    @inline(__always)
    mutating func text(_ text: String, comma: Bool = false, colon: Bool = false) {
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
        append(comma ? ",\"" : "\"")
        var start = 0
        for index in utf8.indices {
            guard let escape = JSONEscaping.escape(for: utf8[index]) else { continue }
            append(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(utf8)[start..<index]))
            escape.withUnsafeBytes { append($0) }
            start = index + 1
        }
        append(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(utf8)[start...]))
        append(colon ? "\":" : "\"")
    }

    // MARK: The memory

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
        guard !isFull, needed - JSONBuffer.slack <= limit else {
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
