// What a value looks like in the files of another coder, such as Foundation's JSONEncoder: plain values, as in the line.

extension PropertyValue: Codable {
    /// The deepest place in a document at which a value is decoded. Each level takes stack.
    private static let maximumCodingDepth = 128

    /// Decodes a value.
    ///
    /// A string in exactly the form of ``Timestamp/description`` becomes a date. Whether a whole number becomes an integer
    /// or a double depends on the decoder. Use ``EventLine`` if every value must keep its type.
    ///
    /// - Throws: A `DecodingError` for values that JSON doesn't have, or that are nested in more than 128 levels.
    public init(from decoder: any Decoder) throws {
        guard decoder.codingPath.count <= PropertyValue.maximumCodingDepth else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath, debugDescription: "values are nested too deeply: flatten them"))
        }
        if let container = try decoder.found({ try $0.container(keyedBy: PropertyName.self) }) {
            self = .object(try Properties(from: container))
        } else if let container = try decoder.found({ try $0.unkeyedContainer() }) {
            self = .array(try PropertyArray(from: container))
        } else {
            self = try PropertyValue(from: try decoder.singleValueContainer())
        }
    }

    private init(from container: any SingleValueDecodingContainer) throws {
        // Any error means another type: JSONDecoder has an error of its own for a number that doesn't fit.
        if container.decodeNil() {
            self = .null
        } else if let bool = attempt(try container.decode(Bool.self), or: nil) {
            self = .bool(bool)
        } else if let int = attempt(try container.decode(Int64.self), or: nil) {
            self = .int(int)
        } else if let double = attempt(try container.decode(Double.self), or: nil) {
            self = .double(double)
        } else {
            let string = try container.decode(String.self)
            self = Timestamp(string).map { .date($0) } ?? .string(string)
        }
    }

    /// Encodes the value; a date as a string in the form of ``Timestamp/description``.
    ///
    /// - Throws: Errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .string(let string): try container.encode(string)
        case .int(let int): try container.encode(int)
        case .double(let double): try container.encode(double)
        case .bool(let bool): try container.encode(bool)
        case .date(let date): try container.encode(date)
        case .array(let array): try container.encode(array)
        case .object(let object): try container.encode(object)
        case .null: try container.encodeNil()
        }
    }
}

extension PropertyArray: Codable {
    /// Decodes an array.
    ///
    /// - Throws: Errors of the decoder.
    public init(from decoder: any Decoder) throws {
        try self.init(from: try decoder.unkeyedContainer())
    }

    fileprivate init(from container: any UnkeyedDecodingContainer) throws {
        var container = container
        self.init([])
        while !container.isAtEnd { append(try container.decode(PropertyValue.self)) }
    }

    /// Encodes the array.
    ///
    /// - Throws: Errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        for element in self { try container.encode(element) }
    }
}

extension Properties: Codable {
    /// Decodes an object. The properties are sorted by name, because decoders don't keep their order.
    ///
    /// - Throws: Errors of the decoder.
    public init(from decoder: any Decoder) throws {
        try self.init(from: try decoder.container(keyedBy: PropertyName.self))
    }

    fileprivate init(from container: KeyedDecodingContainer<PropertyName>) throws {
        let names = container.allKeys.sorted { $0.stringValue < $1.stringValue }
        self.init(try names.map { ($0.stringValue, try container.decode(PropertyValue.self, forKey: $0)) })
    }

    /// Encodes the properties as an object.
    ///
    /// - Throws: Errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: PropertyName.self)
        for property in self { try container.encode(property.value, forKey: PropertyName(property.name)) }
    }
}

extension Event: Codable {
    private enum CodingKeys: String, CodingKey {
        case id, event, time, priority, properties
        case distinctID = "distinct_id"
        case anonymousID = "anonymous_id"
        case loginID = "login_id"
    }

    /// Decodes an event with the keys of its ``EventLine``.
    ///
    /// - Throws: A `DecodingError` if the id, the name or the time is missing, or a value has another type.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let priority = try container.decodeIfPresent(String.self, forKey: .priority)
        guard priority == nil || priority == "critical" else {
            throw DecodingError.dataCorruptedError(
                forKey: .priority, in: container, debugDescription: "no priority: \"critical\" is the only one")
        }
        self.init(
            id: try container.decode(EventID.self, forKey: .id),
            name: try container.decode(String.self, forKey: .event),
            time: Timestamp(milliseconds: try container.decode(Int64.self, forKey: .time)),
            priority: priority == nil ? .normal : .critical,
            distinctID: try container.decodeIfPresent(String.self, forKey: .distinctID),
            anonymousID: try container.decodeIfPresent(String.self, forKey: .anonymousID),
            loginID: try container.decodeIfPresent(String.self, forKey: .loginID),
            properties: try container.decodeIfPresent(Properties.self, forKey: .properties) ?? [:])
    }

    /// Encodes the event with the keys of its ``EventLine``. The time is in milliseconds since 1970.
    ///
    /// - Throws: Errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(name, forKey: .event)
        try container.encode(time.milliseconds, forKey: .time)
        if priority == .critical { try container.encode("critical", forKey: .priority) }
        try container.encodeIfPresent(distinctID, forKey: .distinctID)
        try container.encodeIfPresent(anonymousID, forKey: .anonymousID)
        try container.encodeIfPresent(loginID, forKey: .loginID)
        try container.encode(properties, forKey: .properties)
    }
}

extension EventID: Codable {
    /// Decodes the form of ``description``.
    ///
    /// - Throws: A `DecodingError` for any other string.
    public init(from decoder: any Decoder) throws { self = try decoder.text(EventID.init) }

    /// Encodes the form of ``description``.
    ///
    /// - Throws: Errors of the encoder.
    public func encode(to encoder: any Encoder) throws { try description.encode(to: encoder) }
}

extension Timestamp: Codable {
    /// Decodes the form of ``description``.
    ///
    /// - Throws: A `DecodingError` for any other string.
    public init(from decoder: any Decoder) throws { self = try decoder.text(Timestamp.init) }

    /// Encodes the form of ``description``.
    ///
    /// - Throws: Errors of the encoder.
    public func encode(to encoder: any Encoder) throws { try description.encode(to: encoder) }
}

/// The name of a property as a key.
struct PropertyName: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
}

extension Decoder {
    /// Returns the container, or nil if the value has another form.
    fileprivate func found<Container>(_ container: (any Decoder) throws -> Container) throws -> Container? {
        do {
            return try container(self)
        } catch is DecodingError {
            return nil
        }
    }

    fileprivate func text<Value>(_ make: (String) -> Value?) throws -> Value {
        let container = try singleValueContainer()
        guard let value = make(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not the text of a \(Value.self)")
        }
        return value
    }
}

// MARK: For people

extension Event: CustomStringConvertible {
    /// The event as JSON, with the keys of its ``EventLine``.
    public var description: String { JSONWriter.text { EventLine.write(self, to: &$0) } }
}

extension PropertyValue: CustomStringConvertible {
    /// The value as JSON.
    public var description: String { JSONWriter.text { $0.value(self) } }
}

extension PropertyArray: CustomStringConvertible {
    /// The array as JSON.
    public var description: String { PropertyValue.array(self).description }
}

extension Properties: CustomStringConvertible {
    /// The properties as a JSON object.
    public var description: String { PropertyValue.object(self).description }
}

extension JSONWriter {
    fileprivate static func text(_ write: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter(marksDates: false)
        write(&writer)
        return writer.withBytes { String(decoding: $0, as: UTF8.self) }
    }
}
