extension JSONWriter {
    /// Writes an object.
    ///
    /// - Parameter members: Writes the members by name. It must not write anything without a name.
    /// - Throws: Errors thrown by `members`.
    public mutating func object(_ members: (inout JSONWriter) throws -> Void) rethrows {
        raw("{")
        try members(&self)
        raw("}")
    }

    /// Writes an array.
    ///
    /// ```swift
    /// var writer = JSONWriter()
    /// writer.array(["A-7", "B-8"]) { $0.string($1) }
    /// ```
    ///
    /// - Parameters:
    ///   - elements: The elements, in order.
    ///   - write: Writes exactly one value for each element.
    /// - Throws: Errors thrown by `write`.
    public mutating func array<Elements: Sequence>(
        _ elements: Elements, _ write: (inout JSONWriter, Elements.Element) throws -> Void
    ) rethrows {
        raw("[")
        var isFirst = true
        for element in elements {
            if isOverfull { return }
            if !isFirst { raw(",") }
            isFirst = false
            try write(&self, element)
        }
        raw("]")
    }

    // MARK: Members of an object

    /// Writes a member with a value of any type. Nil writes nothing; ``PropertyValue/null`` writes a null.
    ///
    /// Set each name once in an object. The writer doesn't check it.
    public subscript(name: String) -> PropertyValue? {
        @available(*, unavailable, message: "a writer keeps no values")
        get { nil }
        set {
            guard let newValue else { return }
            self.name(name, comma: needsComma)
            value(newValue)
        }
    }

    /// Writes a member with a string. Nil writes nothing.
    public subscript(name: String) -> String? {
        @available(*, unavailable, message: "a writer keeps no values")
        get { nil }
        set {
            guard let newValue else { return }
            self.name(name, comma: needsComma)
            string(newValue)
        }
    }

    /// Writes a member with an object of the properties that have none of `names`.
    package mutating func object(_ name: String, _ properties: Properties, without names: NameSet?) {
        self.name(name, comma: needsComma)
        object(properties, without: names)
    }

    /// Writes a member with an object of properties.
    public mutating func object(_ name: String, _ properties: Properties) {
        object(name, properties, without: nil)
    }

    /// Writes a member with an object.
    ///
    /// ```swift
    /// writer.object { $0.object("user") { $0["id"] = "42" } }
    /// ```
    ///
    /// - Parameters:
    ///   - name: The member's name.
    ///   - members: Writes the members of the inner object.
    /// - Throws: Errors thrown by `members`.
    public mutating func object(_ name: String, _ members: (inout JSONWriter) throws -> Void) rethrows {
        self.name(name, comma: needsComma)
        try object(members)
    }

    /// Writes a member with an array.
    ///
    /// - Parameters:
    ///   - name: The member's name.
    ///   - elements: The elements, in order.
    ///   - write: Writes exactly one value for each element.
    /// - Throws: Errors thrown by `write`.
    public mutating func array<Elements: Sequence>(
        _ name: String, _ elements: Elements, _ write: (inout JSONWriter, Elements.Element) throws -> Void
    ) rethrows {
        self.name(name, comma: needsComma)
        try array(elements, write)
    }

    /// Writes a member with a value that is JSON already, such as an ``EventLine``.
    public mutating func raw(_ name: String, _ json: some Collection<UInt8>) {
        self.name(name, comma: needsComma)
        raw(json)
    }

    /// Writes the members of an object that is JSON already.
    package mutating func members(of object: some BidirectionalCollection<UInt8>) {
        let members = object.dropFirst().dropLast()
        guard !members.isEmpty else { return }
        if needsComma { raw(",") }
        raw(members)
    }
}
