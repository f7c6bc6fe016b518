extension Properties {
    /// Encodes a value as properties.
    ///
    /// ```swift
    /// struct Cart: Encodable { let total = 12.5, items = ["A-7"] }
    /// let properties = try Properties(encoding: Cart())
    /// ```
    ///
    /// Structs and classes, dictionaries and enums become objects, and sequences become arrays. Types that conform to
    /// ``PropertyConvertible`` keep their values: a ``Timestamp`` stays a date. A synthesized `encode(to:)` leaves out
    /// properties that are nil. Values that are nested deeper than ``PropertyValue/maximumDepth`` become null, and count as
    /// sanitized.
    ///
    /// - Parameter value: A value that encodes as an object.
    /// - Throws: ``SluiceError/Code/unencodable`` if the value isn't an object, or something in it can't be encoded. The
    ///   message names the type and the place in it, such as `Purchase.items[2].price`.
    public init(encoding value: some Encodable) throws(SluiceError) {
        let failure: SluiceError?
        (self, failure) = try Properties.encoding(value)
        if let failure { throw failure }
    }

    /// Encodes the parts of a value that can be encoded.
    ///
    /// - Returns: The properties, and the first error. A member of an object that has failed is left out, and one of an array
    ///   is null.
    /// - Throws: ``SluiceError/Code/unencodable`` if the value isn't an object.
    static func encoding(_ value: some Encodable) throws(SluiceError) -> (Properties, SluiceError?) {
        let encoder = PropertyEncoder(of: value)
        encoder.encodeOrFail { () throws(SluiceError) in try encoder.write(value) }
        if case .object(let properties) = encoder.node.value { return (properties, encoder.run.failure) }
        throw encoder.run.failure ?? encoder.error("it isn't an object: put it into a property of a struct")
    }

    /// Creates properties from a dictionary of any values, sorted by name.
    ///
    /// ```swift
    /// let object: Any = try JSONSerialization.jsonObject(with: Data(#"{"plan": "pro"}"#.utf8))
    /// let properties = try Properties(converting: object as? [String: Any] ?? [:])
    /// ```
    ///
    /// - Parameter dictionary: Values that conform to ``PropertyConvertible``, Foundation's `NSNumber`, `NSString` and
    ///   `NSNull`, and arrays and dictionaries of them.
    /// - Throws: ``SluiceError/Code/unencodable`` for a value of any other type. The message names it and its place.
    public init(converting dictionary: [String: Any]) throws(SluiceError) {
        let encoder = PropertyEncoder(of: dictionary)
        try encoder.convert(dictionary)
        self = encoder.node.value.object ?? [:]
    }

    /// Creates properties from a dictionary of variables of several types, sorted by name.
    public init(converting dictionary: [String: any PropertyConvertible]) {
        self.init(dictionary.mapValues(\.propertyValue))
    }
}
