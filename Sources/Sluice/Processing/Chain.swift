/// Processors in the order of their lines, with one end: all routes of the pipeline, or one store.
///
/// A pipeline has a chain for the processors that all routes share, and one for each route. A plugin's place is its
/// chain and its index there.
final class Chain: Sendable {
    let path: EventPath
    /// The place of this chain's counts in the path.
    private let number: Int
    /// The name of the route; nil for the processors that all routes share.
    private let route: String?
    /// All processors, in order.
    let processors: [any Processor]
    private let stages: Stage?
    /// The route with the store at this chain's end; nil for the chain that all routes share.
    private let end: RouteRuntime?
    /// The chain of the next route, or of the first one. A linked list for the same reason as ``Stage``.
    private let next: Chain?
    /// For the chain of a route: the processors that all routes share.
    private let shared: [any Processor]

    /// Creates the chain that all routes share or, with an `end`, the chain of a route, whose numbers begin with 1.
    init(
        _ processors: [any Processor], below shared: [any Processor] = [], to end: RouteRuntime? = nil, number: Int = 0,
        next: Chain?, in path: EventPath
    ) {
        (self.path, self.processors, stages) = (path, processors, Stage(processors[...]))
        (self.shared, self.end, route, self.number, self.next) = (shared, end, end?.name, number, next)
    }

    /// This chain and the next ones: from the chain that all routes share, all chains of the pipeline.
    var all: [Chain] { [self] + (next?.all ?? []) }

    /// The chains that get the events of this one.
    var reached: [Chain] { end == nil ? all : [self] }

    // MARK: Entering

    /// Creates an event of the host or of a plugin, and sends it through all stages.
    ///
    /// - Returns: the event's id, and whether at least one route has stored the event, or its group will store it. The id
    ///   is `id`, unless that is nil or `configure` replaces the event.
    func track(
        _ name: consuming String, _ properties: consuming Properties, _ priority: Event.Priority, id: EventID?,
        by plugin: PluginContext? = nil, _ configure: (inout Event) -> Void
    ) -> (id: EventID, isStored: Bool) {
        if path.isInherited { return (path.leaveToParent(id), false) }
        let entry = path.enter(number, id: id)
        var event = Event(id: entry.id, name: name, time: entry.time, priority: priority, properties: properties)
        if entry.isOpen { configure(&event) }
        event.userChanges = entry.userChanges
        if let plugin { return (event.id, proceed(&event, below: nil, of: plugin, entry.isOpen, entry.group)) }
        let isStored = proceed(&event, through: stages, entry.isOpen, entry.group, path.beginTrace(event, in: route))
        return (event.id, isStored)
    }

    /// Counts an event that a processor tracks for its own event, without an end.
    func dropRecursion() {
        path.update(number) { $0.entered += 1 }
        _ = drop(.recursion, nil)
    }

    /// Creates an event for a plugin from another event, and sends it through the stages below the plugin.
    func insert(
        _ name: String, _ properties: Properties, _ priority: Event.Priority, before event: Event, below index: Int,
        of plugin: PluginContext, _ configure: (inout Event) -> Void
    ) -> Bool {
        let entry = path.enter(number, id: nil)
        var new = Event(
            id: entry.id, name: name, time: entry.time, priority: priority, distinctID: event.distinctID,
            anonymousID: event.anonymousID, loginID: event.loginID, properties: properties)
        configure(&new)
        // The decisions of stages about its cause.
        (new.userChanges, new.isInScope, new.isInSession) = (event.userChanges, event.isInScope, event.isInSession)
        return proceed(&new, below: index, of: plugin, entry.isOpen, nil)
    }

    /// Sends an event through the stages that all routes share, and then through this route only.
    ///
    /// - Returns: the answer of the shared stages; nil if the route has not stored the event that they kept.
    func join(_ event: Event) -> Disposition? {
        guard path.isOpen else { return nil }
        var event = event
        let trace = path.beginTrace(event, in: nil)
        let disposition = process(&event, Stage(shared[...]), trace)
        // A shared stage that holds the event lets it continue to all routes.
        path.update(disposition.isHold ? 0 : number) { $0.entered += 1 }
        if disposition == .keep {
            trace?.enter(route, event)
            return proceed(&event, through: stages, true, nil, trace) ? .keep : nil
        }
        _ = end(disposition, trace)
        path.report(trace)
        return disposition
    }

    /// Counts an event that a processor holds.
    func hold() { path.update(number) { $0.held += 1 } }

    /// Counts the events that a processor has held since an earlier pipeline.
    func adopt(_ count: Int) { path.update(number) { ($0.entered, $0.held) = ($0.entered + count, $0.held + count) } }

    /// Sends a held event on, below a plugin, or through all stages.
    func forward(_ event: Event, below index: Int?, of plugin: PluginContext) -> Bool {
        path.update(number) { $0.held -= 1 }
        var event = event
        // It gets the ids of now, as all held events of its session do. With ids, it may belong to another user than of now.
        if event.isWithoutUser { event.userChanges = path.currentUserChanges }
        return proceed(&event, below: index, of: plugin, path.isOpen, nil)
    }

    /// Ends an event that was held.
    ///
    /// - Returns: false, because the event is not stored.
    func drop(_ event: Event, _ reason: DropReason, by index: Int) -> Bool {
        path.update(number) { $0.held -= 1 }
        let trace = path.beginTrace(event, in: route, below: name(of: index))
        trace?.stopped(by: name(of: index), in: route, .drop(reason))
        defer { path.report(trace) }
        return drop(reason, trace)
    }

    /// Sends an event of a plugin through the stages below an index, or through all of them, if the gatekeepers above let it
    /// pass: it may have passed them long ago, or not at all.
    private func proceed(
        _ event: inout Event, below index: Int?, of plugin: PluginContext, _ isOpen: Bool, _ group: EventGroup?
    ) -> Bool {
        let trace = path.beginTrace(event, in: route, below: index.map(name))
        let above = isOpen ? shared + processors.prefix(index ?? 0) : []
        for case let (number, stage as any Gatekeeper) in above.enumerated() {
            let answer = stage.admit(PluginEvent(event, of: plugin, at: plugin.place.value, isTracked: index == nil))
            if answer == .keep { continue }
            trace?.stopped(by: "\(type(of: stage))", in: number < shared.count ? nil : route, answer)
            defer { path.report(trace) }
            return end(answer, trace)
        }
        let stage = if let index { stages?.below(index) } else { stages }
        return proceed(&event, through: stage, isOpen, group, trace)
    }

    @inline(__always)
    private func proceed(
        _ event: inout Event, through stage: Stage?, _ isOpen: Bool, _ group: EventGroup?, _ trace: TraceRecording?
    ) -> Bool {
        defer { path.report(trace) }
        var passage = Passage(group: group, trace: trace)
        return isOpen ? pass(&event, through: stage, &passage) : drop(.shutDown, trace)
    }

    // MARK: Passing

    /// The way of one event, and of its copies for the routes.
    private struct Passage {
        /// The group of the thread that tracks the event.
        let group: EventGroup?
        let trace: TraceRecording?
        /// The line that the routes share which leave the event as it is.
        var line: EventLine?
    }

    /// Sends an event through the rest of the stages and to the end.
    ///
    /// - Returns: whether at least one route has stored the event, or its group will store it.
    private func pass(_ event: inout Event, through stage: Stage?, _ passage: inout Passage) -> Bool {
        let answer = process(&event, stage, passage.trace)
        guard case .keep = answer.kind else { return end(answer, passage.trace) }
        if let causes = event.takeSanitizations() {
            passage.trace?.sanitized(event, causes)
            path.count(causes, of: event, number)
        }
        guard !event.name.isEmpty else { return drop(.emptyName, passage.trace) }
        guard let end else { return next?.branch(event, &passage) ?? false }
        return store(event, in: end, sharesLine: false, &passage)
    }

    @inline(__always)
    private func process(_ event: inout Event, _ stage: Stage?, _ trace: TraceRecording?) -> Disposition {
        if let trace { trace.process(stage, &event) } else { stage?.process(&event) ?? .keep }
    }

    /// Sends an event through this route and the routes after it. A route with stages gets a copy.
    private func branch(_ event: borrowing Event, _ passage: inout Passage) -> Bool {
        guard let end else { return false }
        let isStored: Bool
        if let stages {
            var own = copy event
            passage.trace?.enter(route, own)
            var ownPassage = Passage(group: passage.group, trace: passage.trace)
            isStored = pass(&own, through: stages, &ownPassage)
        } else {
            isStored = store(event, in: end, sharesLine: next != nil, &passage)
        }
        // In this order: each route gets the event.
        return next?.branch(event, &passage) ?? false || isStored
    }

    /// Stores an event in a route, or in the group of its thread.
    @inline(__always)
    private func store(
        _ event: borrowing Event, in route: RouteRuntime, sharesLine: Bool, _ passage: inout Passage
    ) -> Bool {
        passage.trace?.willStore()
        var failure: SluiceError?
        do throws(SluiceError) {
            let line = if let line = passage.line { line } else { try path.encode(event) }
            if sharesLine { passage.line = line }
            if let group = passage.group, group.take(line, for: route) { return true }
            failure = route.append(line)
        } catch {
            route.refused(error)
            failure = error
        }
        passage.trace?.didStore(in: route.name, failure)
        return failure == nil
    }

    /// Ends the way of an event that a stage drops or holds.
    ///
    /// - Returns: false, because the event is not stored.
    private func end(_ answer: Disposition, _ trace: TraceRecording?) -> Bool {
        if let reason = answer.dropReason { return drop(reason, trace) }
        trace?.end(.hold)
        return false
    }

    /// - Returns: false, because the event is not stored.
    private func drop(_ reason: DropReason, _ trace: TraceRecording?) -> Bool {
        trace?.end(.drop(reason))
        let isFirst = path.drop(1, reason, number)
        // Any other reason comes from a processor whose task is to drop events.
        if isFirst, reason == .emptyName || reason == .shutDown || reason == .recursion {
            path.report(.dropped, "events are dropped: \(reason.rawValue) (reported once)", route: route)
        }
        return false
    }

    // MARK: Plugins

    /// Connects and prepares the processors of this chain and of the next ones.
    ///
    /// - Parameter states: the gate of the chain's states, unless a processor has one of its own for the whole chain.
    ///   It applies to the routes of this chain too.
    /// - Throws: the first error of a processor, with the name of its type.
    func prepare(_ states: StateGate) throws(SluiceError) {
        var own = states
        for case let keeper as any StateKeeper in processors {
            do { own = try keeper.gate(below: states) } catch { throw SluiceError(error, from: keeper) }
        }
        if end != nil, own === states { own = StateGate(like: states) }
        for (index, processor) in processors.enumerated() {
            (processor.context as? PluginContext)?.bind(to: self, index)
            do {
                try StateGate.$current.withValue(own) { try processor.prepare() }
            } catch {
                throw SluiceError(error, from: processor)
            }
        }
        try next?.prepare(end == nil ? own : states)
    }

    /// Lets the events enter that plugins have tracked before the pipeline was built, in the order of their calls.
    func open() {
        let plugins = processors.compactMap { ($0.context as? PluginContext)?.open() }
        for call in plugins.flatMap(\.early.calls).sorted(by: { $0.number < $1.number }) { call.enter(self) }
        for (reason, count) in plugins.flatMap(\.lost) { path.dropUnentered(count, reason, number, route: route) }
    }

    /// Reports a message of the plugin at an index.
    func report(_ message: String, by index: Int) {
        path.report(.plugin, "\(name(of: index)): \(message)", route: route)
    }

    private func name(of index: Int) -> String { "\(type(of: processors[index]))" }
}

extension Event {
    /// Whether no stage or host has given it an id of a user.
    fileprivate var isWithoutUser: Bool { distinctID == nil && anonymousID == nil && loginID == nil }
}
