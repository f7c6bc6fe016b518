public import Sluice

/// Keeps the trace of each event for your assertions.
///
/// ```swift
/// let traces = TraceRecorder()
/// let pipeline = try Pipeline(onTrace: traces.record) {
///     Sampling(rate: 0)
///     MemoryStore()
///     NullTransport()
/// }
/// let id = pipeline.track("Purchase")
/// precondition(traces.stage(dropping: id)?.name == "Sampling")
/// ```
///
/// A trace is recorded before `track` returns, so your test doesn't have to wait. The recorder has no limit. You can
/// use it from any thread, and for several pipelines.
public final class TraceRecorder: Sendable {
    private let recorded = Locked<[EventTrace]>([])

    /// Creates a recorder without traces.
    public init() {}

    /// Adds a trace. Pass this method as `onTrace` to a `Pipeline`.
    public func record(_ trace: EventTrace) { recorded.withLock { $0.append(trace) } }

    /// All traces, in the order in which the events left the processors. An inserted event has its trace before the
    /// event that caused it.
    public var traces: [EventTrace] { recorded.withLock(\.self) }

    /// Returns the traces of an event, in order. There are several if a stage held the event and forwarded it later.
    public func traces(of id: EventID) -> [EventTrace] { traces.filter { $0.event.id == id } }

    /// Returns the traces of the events that entered with a name.
    ///
    /// ```swift
    /// let trace = traces.traces(named: "Purchase").last
    /// ```
    public func traces(named name: String) -> [EventTrace] { traces.filter { $0.event.name == name } }

    /// Returns the first stage that dropped an event, in all its traces. The stage's disposition has the reason.
    ///
    /// Returns nil if no stage dropped it. The event was then stored or held, or refused by the pipeline, its encoding
    /// or its stores. See `EventTrace.disposition` and `EventTrace.routes`.
    public func stage(dropping id: EventID) -> EventTrace.Stage? {
        traces(of: id).lazy.flatMap(\.stages).first { $0.disposition.dropReason != nil }
    }
}
