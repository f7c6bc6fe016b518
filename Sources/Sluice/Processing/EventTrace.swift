/// The path of one event through a pipeline: its stages, their changes and times, and the result of each route.
///
/// Pass a closure as `onTrace` of a ``Pipeline`` to get one for each event, and print it:
///
/// ```swift
/// let pipeline = try Pipeline(onTrace: { print($0) }) {
///     Currency(code: "EUR")
///     MemoryStore()
///     StdoutTransport()
/// }
/// ```
///
/// A trace contains the event's values, also values that a stage removes or redacts. Use it for development and tests.
/// Don't write traces to a log that other people read.
///
/// A trace ends at the stores. ``Pipeline/ledger`` and the dead letters show the delivery.
///
/// The closure is called on the thread that tracks the event, without a lock and before `track` returns. Several
/// threads can call it at the same time. An inserted event is reported before the event that the stage processes.
///
/// You can track events from the closure, itself or in a `Task` that it starts. They pass all stages, but no pipeline
/// traces them. Don't track from it in other ways, such as a detached task or a queue: each trace would cause another
/// one without end.
public struct EventTrace: Sendable {
    /// The event as the first stage received it.
    public let event: Event
    /// The type of the plugin that inserted, forwarded or dropped the event with its ``PluginContext``. Nil for an
    /// event that was tracked, which starts at the first line.
    ///
    /// A forwarded or dropped event has the id of an earlier trace, in which that plugin held it.
    public let startsBelow: String?
    /// The stages that the event passed, in order: first the stages that all routes share, then the stages of each
    /// route. Empty if the pipeline was shut down.
    ///
    /// ```swift
    /// func slowStages(in trace: EventTrace) -> [String] {
    ///     trace.stages.filter { $0.duration > .milliseconds(1) }.map(\.name)
    /// }
    /// ```
    ///
    /// If the core has sanitized the event, the list contains a stage named `sanitization`.
    public internal(set) var stages: [Stage] = []
    /// Whether the event reached the routes. Otherwise a shared stage held or dropped it, it has an empty name, or the
    /// pipeline was shut down.
    public internal(set) var disposition = Disposition.keep
    /// The results of the routes that the event reached, in their order.
    public internal(set) var routes: [RouteResult] = []

    /// Whether at least one route has stored the event.
    public var isStored: Bool { routes.contains(where: \.isStored) }

    /// The sum of the times of all stages and routes. It doesn't include the recording of this trace.
    public var duration: Duration {
        stages.reduce(.zero) { $0 + $1.duration } + routes.reduce(.zero) { $0 + $1.duration }
    }

    /// One stage that an event has passed.
    public struct Stage: Sendable, Hashable {
        /// The type of the processor.
        public let name: String
        /// The route that the stage belongs to; nil for a stage that all routes share.
        public let route: String?
        /// The changes that the stage made. Properties have the order of the event, and removed ones are the last.
        public let changes: [Change]
        /// The disposition that the stage returned.
        public let disposition: Disposition
        /// The time that the stage took, by the suspending clock of the ``PipelineEnvironment``. It includes the events
        /// that the stage inserted or forwarded, and their traces.
        public let duration: Duration
    }

    /// One change of an event by a stage.
    public enum Change: Sendable, Hashable {
        /// A property was added if `from` is nil, and removed if `to` is nil. Otherwise it has another value.
        case property(String, from: PropertyValue?, to: PropertyValue?)
        /// Another part of the event has changed: its `name`, `priority`, `time`, `distinctID`, `anonymousID` or `loginID`, or
        /// its `id`, because it was replaced by another event. An id of a user was added if `from` is nil, and removed if `to` is
        /// nil.
        case field(String, from: PropertyValue?, to: PropertyValue?)
        /// A value was truncated or dropped, and the ledger counts it.
        case sanitized(Sanitization)
    }

    /// The result of a route for an event.
    ///
    /// ```swift
    /// func failures(in trace: EventTrace) -> [String] {
    ///     trace.routes.compactMap { route in route.error.map { "\(route.name): \($0)" } }
    /// }
    /// ```
    public struct RouteResult: Sendable {
        /// The name of the route.
        public let name: String
        /// ``Disposition/keep`` if the store took the event. ``Disposition/drop(_:)`` has the reason that the ledger
        /// counts.
        public let disposition: Disposition
        /// The error of the encoding or of the store; nil if the event is stored, or if a stage held or dropped it.
        public let error: SluiceError?
        /// The time that encoding and storing took. Routes that don't change the event share its encoding, which counts
        /// for the first of them.
        public let duration: Duration

        /// Whether the store took the event.
        public var isStored: Bool { disposition == .keep }
    }
}

// MARK: Comparing

extension EventTrace.Change {
    /// Returns the differences between two states of an event.
    static func changes(from before: Event, to after: Event) -> [EventTrace.Change] {
        let fields = zip(before.fields, after.fields).filter { $0.value != $1.value }
        let changes =
            fields.map { EventTrace.Change.field($0.name, from: $0.value, to: $1.value) }
            + self.changes(from: before.properties, to: after.properties)
        let known = before.visibleSanitizations
        return changes + after.visibleSanitizations.filter { !known.contains($0) }.map { .sanitized($0) }
    }

    private static func changes(from before: Properties, to after: Properties) -> [EventTrace.Change] {
        guard before != after else { return [] }
        // Dictionaries, because looking up each name in a list takes quadratic time.
        let old = Dictionary(before.map { ($0.name, $0.value) }) { $1 }
        let names = Set(after.map(\.name))
        return after.filter { old[$0.name] != $0.value }.map { .property($0.name, from: old[$0.name], to: $0.value) }
            + before.filter { !names.contains($0.name) }.map { .property($0.name, from: $0.value, to: nil) }
    }
}

extension Event {
    /// The parts besides the properties.
    fileprivate var fields: [(name: String, value: PropertyValue?)] {
        [
            ("id", .string(id.description)), ("name", .string(name)), ("priority", .string("\(priority)")),
            ("time", .date(time)), ("distinctID", distinctID.map { .string($0) }),
            ("anonymousID", anonymousID.map { .string($0) }), ("loginID", loginID.map { .string($0) }),
        ]
    }

    /// The sanitizations of the properties, and the sanitizations that plugins have reported.
    fileprivate var visibleSanitizations: [Sanitization] {
        let own = properties.sanitizations
        return own + reportedSanitizations.filter { !own.contains($0) }
    }
}
