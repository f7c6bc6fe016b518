/// Records the trace of one event. It belongs to one call, and isn't shared between threads.
final class TraceRecording {
    /// True while a host's closure gets a trace. Events of that closure aren't traced, because each trace would cause
    /// another one. This is a task-local value: it also applies to tasks that the closure starts.
    @TaskLocal private static var isReporting = false

    /// Whether an event that enters now must be traced.
    static var isAllowed: Bool { !isReporting }

    private let time: any TimeSource
    private var trace: EventTrace
    /// The event after the last stage.
    private var last: Event
    /// The route whose stages come next.
    private var route: String?
    private var storeStart = Duration.zero
    /// The sanitizations that are part of a stage's changes.
    private var explained: Set<Sanitization> = []

    init(_ event: Event, in route: String?, below plugin: String?, _ time: any TimeSource) {
        (self.route, self.time) = (route, time)
        trace = EventTrace(event: event, startsBelow: plugin)
        last = event
    }

    func report(to onTrace: (EventTrace) -> Void) { TraceRecording.$isReporting.withValue(true) { onTrace(trace) } }

    // MARK: Stages

    /// Does the same as ``Stage/process(_:)``, and records each stage.
    func process(_ first: Stage?, _ event: inout Event) -> Disposition {
        var next = first
        while let stage = next {
            let start = time.suspendingTime()
            let disposition = stage.processor.process(&event)
            let duration = time.suspendingTime() - start
            add("\(type(of: stage.processor))", EventTrace.Change.changes(from: last, to: event), disposition, duration)
            last = event
            guard disposition == .keep else { return disposition }
            next = stage.next
        }
        return .keep
    }

    /// Records that the core has truncated or dropped parts of the event.
    func sanitized(_ event: Event, _ causes: Set<Sanitization>) {
        let hidden = causes.subtracting(explained).sorted { $0.rawValue < $1.rawValue }
        let changes = EventTrace.Change.changes(from: last, to: event) + hidden.map { .sanitized($0) }
        last = event
        if !changes.isEmpty { add("sanitization", changes, .keep, .zero) }
    }

    /// Records that a plugin of a route, or of all routes, has dropped or held the event without processing it.
    func stopped(by plugin: String, in route: String?, _ disposition: Disposition) {
        self.route = route
        add(plugin, [], disposition, .zero)
    }

    private func add(
        _ name: String, _ changes: [EventTrace.Change], _ disposition: Disposition, _ duration: Duration
    ) {
        for case .sanitized(let cause) in changes { explained.insert(cause) }
        trace.stages.append(
            .init(name: name, route: route, changes: changes, disposition: disposition, duration: duration))
    }

    // MARK: Ends

    /// Records the stages of a route from now on. The event starts there as the shared stages have left it.
    func enter(_ route: String?, _ event: Event) {
        self.route = route
        last = event
    }

    /// Records that the event ends before it reaches a route, or in the stages of the current route.
    func end(_ disposition: Disposition) {
        if let route {
            trace.routes.append(.init(name: route, disposition: disposition, error: nil, duration: .zero))
        } else {
            trace.disposition = disposition
        }
    }

    /// Call this before the event is encoded for a route.
    func willStore() { storeStart = time.suspendingTime() }

    /// Records the result of encoding and storing the event: nil, or the error.
    func didStore(in route: String, _ error: SluiceError?) {
        let duration = time.suspendingTime() - storeStart
        let disposition = error.map { Disposition.drop(DropReason($0)) } ?? .keep
        trace.routes.append(.init(name: route, disposition: disposition, error: error, duration: duration))
    }
}
