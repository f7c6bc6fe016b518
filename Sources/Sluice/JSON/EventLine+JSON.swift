extension EventLine {
    /// Writes the canonical line:
    /// `{"id":…,"event":…,"time":…,"priority":"critical","distinct_id":…,"anonymous_id":…,"login_id":…,"properties":{…}}`,
    /// with the priority only if it is not normal, and the ids only where there are any.
    ///
    /// - Throws: ``SluiceError/Code/eventTooLarge`` if the line would be longer than `limit` bytes.
    public init(_ event: borrowing Event, limit: Int = .max) throws(SluiceError) {
        var writer = JSONWriter(capacity: EventLine.estimate(event.properties), limit: limit)
        writer.raw(#"{"id":"#)
        writer.id(event.id)
        writer.raw(#","event":"#)
        writer.string(event.name)
        writer.raw(#","time":"#)
        writer.integer(event.time.milliseconds)
        if event.priority == .critical { writer.raw(#","priority":"critical""#) }
        if let id = event.distinctID {
            writer.raw(#","distinct_id":"#)
            writer.string(id)
        }
        if let id = event.anonymousID {
            writer.raw(#","anonymous_id":"#)
            writer.string(id)
        }
        if let id = event.loginID {
            writer.raw(#","login_id":"#)
            writer.string(id)
        }
        writer.raw(#","properties":"#)
        writer.object(event.properties)
        writer.raw("}")
        guard !writer.isOverfull else {
            throw SluiceError(.eventTooLarge, "the event takes more than \(limit) bytes as JSON: send less in it")
        }
        self.init(bytes: writer.written, priority: event.priority)
    }

    /// Bytes that nearly always suffice, so that the buffer seldom has to grow and is seldom much too large.
    private static func estimate(_ properties: Properties) -> Int {
        320 + properties.pairs.count * 48 + (properties.block?.json.count ?? 0)
    }

    /// Turns the line back into the event that it was written from.
    ///
    /// - Throws: ``SluiceError/Code/malformedLine`` if it is not exactly such a line: broken JSON, a key missing,
    ///   unknown or of the wrong type, or a priority other than the one that the store filed it under.
    public func event() throws(SluiceError) -> Event {
        var fields = try JSONReader.fields(of: bytes)
        let idText = try fields.takeString("id")
        guard let id = EventID(idText) else { throw EventLine.malformed("no id") }
        guard case .int(let time) = fields.removeValue(forKey: "time") else { throw EventLine.malformed("no time") }
        var priority = Event.Priority.normal
        if let word = fields.removeValue(forKey: "priority") {
            guard word == .string("critical") else { throw EventLine.malformed("an unknown priority") }
            priority = .critical
        }
        guard priority == self.priority else { throw EventLine.malformed("a priority other than its store's") }
        guard case .object(let properties) = fields.removeValue(forKey: "properties") else {
            throw EventLine.malformed("no properties")
        }
        let event = Event(
            id: id,
            name: try fields.takeString("event"),
            time: Timestamp(milliseconds: time),
            priority: priority,
            distinctID: try fields.takeOptionalString("distinct_id"),
            anonymousID: try fields.takeOptionalString("anonymous_id"),
            loginID: try fields.takeOptionalString("login_id"),
            properties: properties)
        guard fields.isEmpty else { throw EventLine.malformed("unknown keys") }
        return event
    }

    fileprivate static func malformed(_ what: String) -> SluiceError {
        SluiceError(.malformedLine, "not a canonical event line: \(what)")
    }
}

extension [String: PropertyValue] {
    fileprivate mutating func takeString(_ name: String) throws(SluiceError) -> String {
        guard case .string(let string) = removeValue(forKey: name) else { throw EventLine.malformed("no \(name)") }
        return string
    }

    fileprivate mutating func takeOptionalString(_ name: String) throws(SluiceError) -> String? {
        self[name] == nil ? nil : try takeString(name)
    }
}
