// Literals with variables, and dictionaries.

extension PluginContext {
    /// Tracks an event with a literal that has variables in it.
    ///
    /// - Returns: Whether at least one route has stored the event.
    @_disfavoredOverload
    @discardableResult
    public func track(
        _ name: String, _ properties: PropertyLiteral, priority: Event.Priority = .normal,
        configure: (inout Event) -> Void = { _ in }
    ) -> Bool {
        track(name, properties.properties, priority: priority, configure: configure)
    }

    /// Inserts an event with a literal that has variables in it.
    ///
    /// - Returns: Whether at least one route has stored the new event.
    @_disfavoredOverload
    @discardableResult
    public func insert(
        _ name: String, _ properties: PropertyLiteral, priority: Event.Priority = .normal, before event: Event,
        configure: (inout Event) -> Void = { _ in }
    ) -> Bool {
        insert(name, properties.properties, priority: priority, before: event, configure: configure)
    }
    // AnyHashable for the same reason as in Properties.init. Hidden like the overloads for lists of other verbs.
    /// Tracks an event with the values of a dictionary.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    @discardableResult
    public func track(
        _ name: String, _ properties: [AnyHashable: some PropertyConvertible], priority: Event.Priority = .normal,
        configure: (inout Event) -> Void = { _ in }
    ) -> Bool {
        track(name, Properties(properties), priority: priority, configure: configure)
    }

    /// Inserts an event with the values of a dictionary.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    @discardableResult
    public func insert(
        _ name: String, _ properties: [AnyHashable: some PropertyConvertible], priority: Event.Priority = .normal,
        before event: Event, configure: (inout Event) -> Void = { _ in }
    ) -> Bool {
        insert(name, Properties(properties), priority: priority, before: event, configure: configure)
    }
}
