import Sluice

extension JSONWriter {
    /// A moment as a string in ISO 8601, with a plain Z, for receivers that parse it before they unescape it.
    mutating func isoTime(_ time: Timestamp) {
        string(time.description)
    }

    /// Nanoseconds since 1970 as a string of digits, within what an unsigned integer of 64 bits can count.
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

    /// All of `elements`, with commas between them.
    mutating func list<Element>(
        _ elements: some Sequence<Element>, _ write: (inout JSONWriter, Element) throws(SluiceError) -> Void
    ) throws(SluiceError) {
        var isFirst = true
        for element in elements {
            if !isFirst { raw(",") }
            isFirst = false
            try write(&self, element)
        }
    }

    /// An object of properties that stand beside names of the format's own: a property that has one of those names gets
    /// `properties.` in front, since no object may have a name twice.
    mutating func pairs(_ properties: Properties, beside names: Set<String>) {
        for property in properties {
            raw(",")
            string(property.outerName(beside: names))
            raw(":")
            value(property.value)
        }
    }
}

extension Property {
    func outerName(beside names: Set<String>) -> String {
        names.contains(name) ? "properties." + name : name
    }
}

extension Batch {
    /// - Complexity: O(bytes).
    var byteCount: Int { events.reduce(0) { $0 + $1.bytes.count } }

    /// A writer with room for the batch and something around each event.
    func makeWriter() -> JSONWriter {
        JSONWriter(capacity: byteCount + events.count * 128 + 256)
    }
}

extension EventLine {
    /// The id that receivers are to know the event by.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/malformedLine``, of which the transport makes a search for the event.
    func canonicalID() throws(SluiceError) -> EventID {
        guard let id else { throw SluiceError(.malformedLine, "not a canonical event line: no id") }
        return id
    }
}

extension Event {
    /// Whom the event belongs to, for receivers that demand someone: without any id at all, the event stands for itself.
    var anyDistinctID: String { distinctID ?? loginID ?? anonymousID ?? id.description }
}
