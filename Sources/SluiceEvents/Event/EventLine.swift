/// An event as one canonical line of JSON: stores keep it, and transports send it.
///
/// The line is a JSON object without a newline in it or after it. The lines of a batch can share one buffer.
///
/// ```swift
/// let line = try EventLine(Event(name: "Purchase"))
/// print(String(decoding: line.bytes, as: UTF8.self))
/// ```
public struct EventLine: Sendable {
    /// The UTF-8 of the line, from `{"id":"` to `}`.
    public let bytes: ArraySlice<UInt8>
    /// The priority of the event.
    public let priority: Event.Priority
    /// Whether Sluice has encoded the line. A store checks other lines, which may have a newline in them.
    package let isEncoded: Bool

    /// Creates a line from the bytes and the priority that a store has kept.
    ///
    /// ```swift
    /// let kept = EventLine(bytes: line.bytes, priority: line.priority)
    /// ```
    public init(bytes: ArraySlice<UInt8>, priority: Event.Priority) {
        self.init(bytes: bytes, priority: priority, isEncoded: false)
    }

    /// Creates a line from bytes in any collection, such as an array or `Data`, which are copied.
    ///
    /// ```swift
    /// let kept = EventLine(bytes: Array(line.bytes), priority: line.priority)
    /// ```
    public init(bytes: some Collection<UInt8>, priority: Event.Priority) {
        self.init(bytes: ArraySlice(bytes), priority: priority, isEncoded: false)
    }

    package init(bytes: ArraySlice<UInt8>, priority: Event.Priority, isEncoded: Bool) {
        self.bytes = bytes
        self.priority = priority
        self.isEncoded = isEncoded
    }

    /// The event's id, read without the rest of the line. Nil if the bytes aren't a canonical line.
    public var id: EventID? {
        bytes.withUnsafeBufferPointer { bytes in
            let start = EventLine.idPrefix.utf8CodeUnitCount
            guard bytes.count >= start + EventID.textLength, EventLine.idPrefix.withUTF8Buffer(bytes.starts) else {
                return nil
            }
            return EventID(text: UnsafeBufferPointer(rebasing: bytes[start..<start + EventID.textLength]))
        }
    }

    static let idPrefix: StaticString = #"{"id":""#
}

extension EventLine: Equatable {
    /// Returns whether both lines have the same bytes and priority.
    public static func == (left: EventLine, right: EventLine) -> Bool {
        left.priority == right.priority && left.bytes == right.bytes
    }
}

extension EventLine {
    /// Encodes an event as its canonical line:
    /// `{"id":…,"event":…,"time":…,"priority":"critical","distinct_id":…,"anonymous_id":…,"login_id":…,"properties":{…}}`
    ///
    /// A normal priority and user ids that are nil are omitted.
    ///
    /// ```swift
    /// let line = try EventLine(Event(name: "Purchase"), limit: 65_536)
    /// ```
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - limit: The maximum length in bytes.
    /// - Throws: ``SluiceError/Code/eventTooLarge`` if the line would be longer than `limit`.
    public init(_ event: borrowing Event, limit: Int = .max) throws(SluiceError) {
        var buffer: [UInt8] = []
        try self.init(event, limit: limit, reusing: &buffer)
    }

    /// Encodes an event into the buffer of an earlier line, and leaves the buffer of this line there.
    package init(_ event: borrowing Event, limit: Int, reusing buffer: inout [UInt8]) throws(SluiceError) {
        let capacity = EventLine.estimate(event.properties)
        let count = JSONWriter.write(into: &buffer, capacity: capacity, limit: limit) {
            EventLine.write(event, to: &$0)
        }
        guard let count else {
            throw SluiceError(.eventTooLarge, "the event takes more than \(limit) bytes as JSON: send less in it")
        }
        self.init(bytes: buffer[..<count], priority: event.priority, isEncoded: true)
    }

    @inline(__always)
    static func write(_ event: borrowing Event, to writer: inout JSONWriter) {
        writer.raw(#"{"id":"#)
        writer.id(event.id)
        writer.raw(#","event":"#)
        writer.string(event.name)
        writer.raw(#","time":"#)
        writer.integer(event.time.milliseconds)
        if event.priority == .critical { writer.raw(#","priority":"critical""#) }
        writer.string(event.distinctID, after: #","distinct_id":"#)
        writer.string(event.anonymousID, after: #","anonymous_id":"#)
        writer.string(event.loginID, after: #","login_id":"#)
        writer.raw(#","properties":"#)
        writer.object(event.properties)
        writer.raw("}")
    }

    /// A capacity that is nearly always enough and rarely much too large.
    private static func estimate(_ properties: Properties) -> Int {
        320 + properties.storage.pairs.count * 48 + (properties.storage.block?.json.count ?? 0)
    }

    /// Decodes the event. Unknown keys are ignored: a later version may have written them.
    ///
    /// ```swift
    /// let event = try line.event()
    /// ```
    ///
    /// - Throws: ``SluiceError/Code/malformedLine`` if this isn't a canonical line: the JSON is broken, a key is
    ///   missing, given twice or of the wrong type, or the priority differs from ``priority``.
    public func event() throws(SluiceError) -> Event {
        let fields = Fields(members: try JSONReader.members(of: bytes, keepsJSON: true))
        guard let id = EventID(try fields.string("id")) else { throw EventLine.malformed("no id") }
        guard case .int(let time) = fields["time"] else { throw EventLine.malformed("no time") }
        guard fields["priority"] == (priority == .critical ? .string("critical") : nil) else {
            throw EventLine.malformed("a priority other than its store's")
        }
        guard case .object(let properties) = fields["properties"] else { throw EventLine.malformed("no properties") }
        var event = Event(
            id: id, name: try fields.string("event"), time: Timestamp(milliseconds: time), priority: priority,
            properties: properties)
        // A stored line is read as it is.
        event.checkedDistinctID = try fields.optionalString("distinct_id")
        event.checkedAnonymousID = try fields.optionalString("anonymous_id")
        event.checkedLoginID = try fields.optionalString("login_id")
        return event
    }

    static func malformed(_ reason: String) -> SluiceError {
        SluiceError(.malformedLine, "not a canonical event line: \(reason)")
    }
}

/// The members of a line. They are few, so a search is faster than a dictionary.
private struct Fields {
    let members: [(String, PropertyValue)]

    subscript(name: String) -> PropertyValue? { members.first { $0.0.isSameASCII(as: name) }?.1 }

    func string(_ name: String) throws(SluiceError) -> String {
        guard let string = try optionalString(name) else { throw EventLine.malformed("no \(name)") }
        return string
    }

    func optionalString(_ name: String) throws(SluiceError) -> String? {
        guard let value = self[name] else { return nil }
        guard case .string(let string) = value else { throw EventLine.malformed("no \(name)") }
        return string
    }
}
