public import Sluice

// The verbs of this module with a list or a dictionary in a variable. They are disfavored, because Swift would otherwise prefer
// them for literals. They are hidden, because the page of PropertyLiteral describes them for all verbs.

extension DurationTimer {
    /// Ends the timer of a name, and tracks its event with these properties.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func end(_ name: String, _ properties: some PropertyList, priority: Event.Priority = .normal) {
        end(name, properties.literal, priority: priority)
    }

    /// Ends a timer, and tracks its event with these properties.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func end(_ token: DurationToken, _ properties: some PropertyList, priority: Event.Priority = .normal) {
        end(token, properties.literal, priority: priority)
    }
}

extension Screens {
    /// Call this when a screen with these properties has become visible.
    @discardableResult
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func enter(_ name: String, _ properties: some PropertyList, in parent: DurationToken? = nil) -> DurationToken
    {
        enter(name, properties.literal, in: parent)
    }

    /// Call this when a screen has gone.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func leave(_ token: DurationToken, _ properties: some PropertyList) { leave(token, properties.literal) }

    /// Leaves the screen of a name that was entered last.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func leave(_ name: String, _ properties: some PropertyList) { leave(name, properties.literal) }

    /// Leaves all screens and enters this one.
    @discardableResult
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func show(_ name: String, _ properties: some PropertyList) -> DurationToken {
        show(name, properties.literal)
    }
}
