public import Sluice

// The verbs of this module with a list or a dictionary in a variable. They are disfavored, because Swift would otherwise prefer
// them for literals. They are hidden, because the page of PropertyLiteral describes them for all verbs.

extension Identity {
    /// Sets the user's id for later events, and properties of the person.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func login(_ id: String, _ properties: some PropertyList) throws(SluiceError) {
        try login(id, properties.literal)
    }

    /// Adds the user to a group with these properties.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func join(group id: String, ofType type: String, _ properties: some PropertyList) throws(SluiceError) {
        try join(group: id, ofType: type, properties.literal)
    }

    /// Sets properties of a thing that users deal with.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func setItem(_ type: String, _ id: String, _ properties: some PropertyList) throws(SluiceError) {
        try setItem(type, id, properties.literal)
    }
}

extension Profile {
    /// Sets properties of the user.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func set(_ properties: some PropertyList) { set(properties.literal) }

    /// Sets the properties that the user doesn't have yet.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func setOnce(_ properties: some PropertyList) { setOnce(properties.literal) }

    /// Adds to numbers of the user.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func increment(_ amounts: some PropertyList) throws(SluiceError) { try increment(amounts.literal) }

    /// Appends to lists of the user.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func append(_ values: some PropertyList) { append(values.literal) }
}
