import Sluice

extension Timestamp {
    /// Nanoseconds since 1970 as digits, within the range of an unsigned 64-bit integer.
    var nanoseconds: String {
        let milliseconds = min(max(milliseconds, 0), Int64(UInt64.max / 1_000_000))
        return String(UInt64(milliseconds) * 1_000_000)
    }
}

extension PropertyValue {
    /// A string or a date without quotes, and JSON for any other value.
    package var text: String {
        switch self {
        case .string(let string): string
        case .date(let date): date.description
        default: description
        }
    }
}

extension JSONWriter {
    /// Writes a list with an object for each element.
    package mutating func objects<Elements: Sequence>(
        _ elements: Elements, _ write: (inout JSONWriter, Elements.Element) throws -> Void
    ) rethrows {
        try array(elements) { json, element in try json.object { try write(&$0, element) } }
    }

    /// Writes a member whose value is a list with an object for each element.
    package mutating func objects<Elements: Sequence>(
        _ name: String, _ elements: Elements, _ write: (inout JSONWriter, Elements.Element) throws -> Void
    ) rethrows {
        try array(name, elements) { json, element in try json.object { try write(&$0, element) } }
    }
}

extension HTTPRequest {
    /// Sets a body of JSON, written into a buffer for the batch.
    package mutating func setJSON(
        for batch: Batch, as type: String = "application/json", _ write: (inout JSONWriter) throws -> Void
    ) rethrows {
        var writer = batch.makeWriter()
        try write(&writer)
        setHeader("Content-Type", type)
        body = writer.bytes
    }

    /// Sets a body that is one object of JSON.
    package mutating func setJSONObject(
        for batch: Batch, as type: String = "application/json", _ write: (inout JSONWriter) throws -> Void
    ) rethrows {
        try setJSON(for: batch, as: type) { try $0.object(write) }
    }
}

extension Batch {
    /// - Complexity: O(number of events).
    var byteCount: Int { events.reduce(0) { $0 + $1.bytes.count } }

    /// A writer with capacity for the batch and an envelope around each event.
    package func makeWriter() -> JSONWriter {
        JSONWriter(capacity: byteCount + events.count * 256 + 256, marksDates: false)
    }
}

extension EventLine {
    /// The event for a record of a backend that has fields for ids: a placeholder is left out, because it is no one's.
    package func record() throws(SluiceError) -> Event {
        var event = try event()
        // Each is checked once: setting the other ids of an event checks them too.
        event.checkedDistinctID = event.distinctID?.asID
        event.checkedAnonymousID = event.anonymousID?.asID
        event.checkedLoginID = event.loginID?.asID
        return event
    }

    /// The ``record()``; nil for a line that can't be read, and so was not sent.
    package var sentRecord: Event? { attempt(try record(), or: nil) }

    /// The distinct id, read without the rest of the line. Nil if it is missing or a placeholder.
    func person() throws(SluiceError) -> String? { try field("distinct_id")?.string?.asID }

    /// The id by which receivers recognize the event.
    func canonicalID() throws(SluiceError) -> EventID {
        guard let id else { throw SluiceError(.malformedLine, "not a canonical event line: no id") }
        return id
    }
}

extension String {
    /// The text as an id of a person or a group. Nil if it stands for a missing id, as in ``Event/distinctID``.
    package var asID: String? { PlaceholderID.matches(self) ? nil : self }
}
