public import Sluice

extension Timestamp {
    /// Nanoseconds since 1970 as digits, within the range of an unsigned 64-bit integer.
    var nanoseconds: String {
        let milliseconds = min(max(milliseconds, 0), Int64(UInt64.max / 1_000_000))
        return String(UInt64(milliseconds) * 1_000_000)
    }
}

extension PropertyValue {
    /// A string or a date without quotes, and JSON for any other value.
    var text: String {
        switch self {
        case .string(let string): return string
        case .date(let date): return date.description
        default:
            var writer = JSONWriter()
            writer.value(self)
            return String(decoding: writer.bytes, as: UTF8.self)
        }
    }

    /// Whether the value is neither a list, nor an object, nor null.
    var isScalar: Bool {
        switch self {
        case .array, .object, .null: false
        default: true
        }
    }
}

extension HTTPRequest {
    /// Sets a body of JSON, written into a buffer for the batch.
    mutating func setJSON(for batch: Batch, _ write: (inout JSONWriter) throws -> Void) rethrows {
        var writer = batch.makeWriter()
        try write(&writer)
        setHeader("Content-Type", "application/json")
        body = writer.bytes
    }
}

extension Batch {
    /// - Complexity: O(number of events).
    var byteCount: Int { events.reduce(0) { $0 + $1.bytes.count } }

    /// A writer with capacity for the batch and an envelope around each event.
    func makeWriter() -> JSONWriter { JSONWriter(capacity: byteCount + events.count * 256 + 256, marksDates: false) }
}

extension EventLine {
    /// The stored line as JSON for a receiver: dates end with a plain Z. The store marks them by an escape, `\u005a`, which
    /// some databases don't read as a part of a date.
    ///
    /// ```swift
    /// let stored = try EventLine(Event(name: "Purchase", properties: ["at": .date(.now)]))
    /// let body = Array(stored.json) + Array("\n".utf8)
    /// ```
    ///
    /// - Complexity: O(number of bytes). Without a date, nothing is copied.
    public var json: ArraySlice<UInt8> { bytes.withPlainDates }

    /// The event for a record of a backend that has fields for ids: a blank id is left out, because it is no one's.
    func record() throws(SluiceError) -> Event {
        var event = try event()
        event.distinctID = event.distinctID?.asID
        event.anonymousID = event.anonymousID?.asID
        event.loginID = event.loginID?.asID
        return event
    }

    /// The distinct id, read without the rest of the line. Nil if it is missing or blank.
    func person() throws(SluiceError) -> String? { try field("distinct_id")?.string?.asID }

    /// The id by which receivers recognize the event.
    func canonicalID() throws(SluiceError) -> EventID {
        guard let id else { throw SluiceError(.malformedLine, "not a canonical event line: no id") }
        return id
    }

    /// The event's time, read without the rest of the line.
    func time() throws(SluiceError) -> Timestamp {
        guard case .int(let milliseconds)? = try field("time") else {
            throw SluiceError(.malformedLine, "not a canonical event line: no time")
        }
        return Timestamp(milliseconds: milliseconds)
    }
}

extension String {
    /// The text as an id. Nil if it is blank.
    var asID: String? { allSatisfy(\.isWhitespace) ? nil : self }
}

extension ArraySlice<UInt8> {
    /// The JSON with a plain Z instead of the store's mark for dates.
    var withPlainDates: ArraySlice<UInt8> {
        let mark = #"\u005a""#.utf8
        var result: [UInt8] = []
        var start = startIndex
        var position = start
        while position < endIndex, let escape = self[position...].index(of: UInt8(ascii: "\\")) {
            position = escape + 2  // Behind the escaped character, which may be a backslash.
            guard self[escape...].starts(with: mark) else { continue }
            if result.isEmpty { result.reserveCapacity(count) }
            result += self[start..<escape]
            result.append(UInt8(ascii: "Z"))
            position = escape + mark.count - 1
            start = position
        }
        if start == startIndex { return self }
        result += self[start...]
        return result[...]
    }
}
