import Sluice

extension JSONWriter {
    /// A time as an ISO 8601 string with a plain Z, for receivers that parse it before they unescape it.
    mutating func isoTime(_ time: Timestamp) {
        string(time.description)
    }

    /// Nanoseconds since 1970 as a string of digits, within the range of an unsigned 64-bit integer.
    mutating func unixNanoseconds(_ time: Timestamp) {
        let milliseconds = min(max(time.milliseconds, 0), Int64(UInt64.max / 1_000_000))
        string(String(UInt64(milliseconds) * 1_000_000))
    }

    /// `,"name":"value"`, or nothing without a value.
    mutating func optionalString(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        raw(",\"")
        raw(name)
        raw("\":")
        string(value)
    }

    /// The elements with commas between them.
    mutating func list<Element, Failure: Error>(
        _ elements: some Sequence<Element>, _ write: (inout JSONWriter, Element) throws(Failure) -> Void
    ) throws(Failure) {
        var isFirst = true
        for element in elements {
            if !isFirst { raw(",") }
            isFirst = false
            try write(&self, element)
        }
    }

    /// The events of a batch, each read from its line, with commas between them.
    mutating func events(of batch: Batch, _ write: (inout JSONWriter, Event) -> Void) throws(SluiceError) {
        try list(batch.events) { (writer, line) throws(SluiceError) in write(&writer, try line.event()) }
    }
}

extension Property {
    /// The name beside the format's own names. A property with one of them gets the prefix `properties.`, since an object
    /// must not contain a name twice.
    func outerName(beside names: Set<String>) -> String {
        names.contains(name) ? "properties." + name : name
    }
}

extension HTTPRequest {
    mutating func setJSON(_ writer: JSONWriter) {
        setHeader("Content-Type", "application/json")
        body = writer.bytes
    }
}

extension Batch {
    /// - Complexity: O(number of events).
    var byteCount: Int { events.reduce(0) { $0 + $1.bytes.count } }

    /// A writer with capacity for the batch and an envelope around each event.
    func makeWriter() -> JSONWriter { JSONWriter(capacity: byteCount + events.count * 128 + 256) }
}

extension EventLine {
    /// The id by which receivers recognize the event.
    func canonicalID() throws(SluiceError) -> EventID {
        guard let id else { throw SluiceError(.malformedLine, "not a canonical event line: no id") }
        return id
    }
}

extension Event {
    /// The distinct id, or the next best id for receivers that require one. An event without any id has its own.
    var anyDistinctID: String { distinctID ?? loginID ?? anonymousID ?? id.description }

    /// The anonymous id. An event without any id of a person has its own.
    var anyAnonymousID: String? { anonymousID ?? (loginID == nil ? anyDistinctID : nil) }
}
