public import Sluice

// The verbs of this module with a list or a dictionary in a variable. They are disfavored, because Swift would otherwise prefer
// them for literals. They are hidden, because the page of PropertyLiteral describes them for all verbs.

extension AutoProperties {
    /// Adds properties to all later events.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func register(_ properties: some PropertyList) { register(properties.literal) }

    /// Adds the properties whose names are not registered yet to all later events.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func registerOnce(_ properties: some PropertyList) { registerOnce(properties.literal) }
}

extension Links {
    /// Call this when a link has opened your app.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func opened(_ url: String, referrer: String? = nil, _ properties: some PropertyList) {
        opened(url, referrer: referrer, properties.literal)
    }

    /// Call this when the user has opened a push message.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func pushOpened(
        _ campaign: String? = nil, source: String? = nil, url: String? = nil, _ properties: some PropertyList
    ) {
        pushOpened(campaign, source: source, url: url, properties.literal)
    }
}
