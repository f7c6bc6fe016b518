/// The synchronous half of a pipeline: it takes an event from `track` through the processors into the stores, on the
/// caller's thread.
final class EventPath: Sendable {
    private struct State {
        var isOpen = true
        var ids = EventIDGenerator()
        var ledger = Ledger()
        /// The encoding errors that were reported, at most ``EventPath/maximumEncodingErrors``.
        var encodingErrors: Set<String> = []
        /// The threads that store events together.
        var groups: [UInt: EventGroup] = [:]

        /// The group of the current thread.
        var group: EventGroup? {
            if groups.isEmpty { return nil }
            return groups[currentThread]
        }
    }

    private static let maximumEncodingErrors = 100

    /// The processors of a route, and the route that they lead to. A linked list for the same reason as ``Stage``.
    private final class Branch: Sendable {
        let chain: UInt32
        let stages: Stage?
        let route: RouteRuntime
        let next: Branch?

        init(_ processors: [any Processor], _ route: RouteRuntime, next: Branch?) {
            chain = EventPath.nextChain()
            stages = Stage(processors)
            self.route = route
            self.next = next
        }
    }

    /// The last number that a chain of processors got. An event carries the number of the chain that it passes.
    private static let lastChain = Locked<UInt32>(0)

    let environment: PipelineEnvironment
    private let maximumEventBytes: Int
    private let onDiagnostic: @Sendable (Diagnostic) -> Void
    /// Nil without tracing, which then costs one comparison for each event and each step of it.
    private let onTrace: (@Sendable (EventTrace) -> Void)?
    /// All processors and their places, those of the routes last.
    private let lines: [(processor: any Processor, chain: UInt32, index: Int)]
    private let chain: UInt32
    private let stages: Stage?
    private let firstBranch: Branch?
    private let state = Locked(State())
    private let creator = CreatingProcess()
    /// The events that the child of a `fork` has tracked here.
    // nonisolated(unsafe): CurrentProcess.childLock protects it.
    @exclusivity(unchecked) nonisolated(unsafe) private var leftEvents = 0
    /// The buffer of the last line, reused for the next one. While another thread uses it, a line gets its own.
    private let spareBuffer = Locked<[UInt8]>([])

    init(
        _ plan: _PipelinePlan, _ routes: [RouteRuntime], maximumEventBytes: Int, environment: PipelineEnvironment,
        onDiagnostic: @escaping @Sendable (Diagnostic) -> Void, onTrace: (@Sendable (EventTrace) -> Void)?
    ) {
        self.maximumEventBytes = maximumEventBytes
        self.environment = environment
        self.onDiagnostic = onDiagnostic
        self.onTrace = onTrace
        let chain = EventPath.nextChain()
        self.chain = chain
        stages = Stage(plan.processors)
        var lines: [(any Processor, UInt32, Int)] = []
        var next: Branch?
        for (route, runtime) in zip(plan.routes, routes).reversed() {
            let branch = Branch(route.stages.processors, runtime, next: next)
            lines = route.stages.processors.enumerated().map { ($1, branch.chain, $0) } + lines
            next = branch
        }
        firstBranch = next
        self.lines = plan.processors.enumerated().map { ($1, chain, $0) } + lines
    }

    private static func nextChain() -> UInt32 {
        lastChain.withLock { last in
            last += 1
            return last
        }
    }

    /// Connects and prepares each processor.
    ///
    /// - Throws: the first error of a processor, with the name of its type.
    func prepare() throws(SluiceError) {
        for (processor, chain, index) in lines {
            let context = processor.context as? PluginContext
            do {
                try context?.checkProcess()
                context?.bind(to: self, chain, index, named: "\(type(of: processor))")
                try processor.prepare()
            } catch {
                throw SluiceError(error, from: processor)
            }
        }
    }

    // MARK: Entering

    /// - Returns: the event's id, and whether at least one route has stored the event, or its group will store it. The id
    ///   is `id`, unless that is nil or `configure` replaces the event.
    func track(
        _ name: consuming String, _ properties: consuming Properties, _ priority: Event.Priority, id: EventID?,
        _ configure: (inout Event) -> Void
    ) -> (id: EventID, isStored: Bool) {
        if isInherited { return (leaveToParent(id), false) }
        let time = environment.time.wallTime()
        let (isOpen, id, group) = state.withLock { state in
            state.ledger.tracked += 1
            let id = id ?? state.ids.next(at: time, in: environment)
            return (state.isOpen, id, state.group)
        }
        guard isOpen else {
            let event = Event(id: id, name: name, time: time, priority: priority, properties: properties)
            return (id, proceed(event, in: nil, below: nil, isOpen))
        }
        var event = Event(id: id, name: name, time: time, priority: priority, properties: properties)
        configure(&event)
        event.chain = chain
        let trace = beginTrace(event)
        let isStored = pass(&event, through: stages, group, trace)
        report(trace)
        return (event.id, isStored)
    }

    /// Makes a new event, which enters below a stage of the chain that `event` passes.
    func insert(
        _ name: String, _ properties: Properties, _ priority: Event.Priority, before event: Event, below index: Int,
        _ configure: (inout Event) -> Void
    ) -> Bool {
        let time = environment.time.wallTime()
        let branch = branch(of: event)
        let (isOpen, id) = state.withLock { state in
            if branch == nil { state.ledger.tracked += 1 }
            return (state.isOpen, state.ids.next(at: time, in: environment))
        }
        var new = Event(
            id: id, name: name, time: time, priority: priority, distinctID: event.distinctID,
            anonymousID: event.anonymousID, loginID: event.loginID, properties: properties)
        configure(&new)
        new.chain = event.chain
        branch?.route.count {
            $0.received += 1
            $0.inserted += 1
        }
        return proceed(new, in: branch, below: index, isOpen)
    }

    /// Lets an event continue below the stage that held it.
    func forward(_ event: Event, below index: Int) -> Bool {
        let branch = branch(of: event)
        let isOpen = state.withLock { state in
            if branch == nil { state.ledger.held -= 1 }
            return state.isOpen
        }
        branch?.route.count { $0.held -= 1 }
        return proceed(event, in: branch, below: index, isOpen)
    }

    /// Ends an event that was held.
    func drop(_ event: Event, _ reason: DropReason, by index: Int) {
        let trace = beginTrace(event, below: index)
        defer { report(trace) }
        if let branch = branch(of: event) {
            trace?.enter(branch.route, event)
            trace?.dropped(by: name(of: event, index), reason)
            branch.route.count {
                $0.held -= 1
                $0.dropped.add(1, reason)
            }
        } else {
            trace?.dropped(by: name(of: event, index), reason)
            state.withLock { $0.ledger.held -= 1 }
            _ = drop(reason, nil)
        }
    }

    /// Counts events that have not entered the pipeline.
    func drop(_ count: Int, _ reason: DropReason) {
        state.withLock { state in
            state.ledger.tracked += count
            state.ledger.dropped.add(count, reason)
        }
        report(.dropped, "events from before the pipeline was built are dropped: \(count) (\(reason.rawValue))")
    }

    private func branch(of event: Event) -> Branch? {
        var branch = event.chain == chain ? nil : firstBranch
        while let current = branch, current.chain != event.chain { branch = current.next }
        return branch
    }

    /// Lets an event pass the stages below an index, or all stages if the index is nil.
    private func proceed(_ event: Event, in branch: Branch?, below index: Int?, _ isOpen: Bool) -> Bool {
        var event = event
        let trace = beginTrace(event, below: index)
        defer { report(trace) }
        if let branch { trace?.enter(branch.route, event) }
        let first = branch == nil ? stages : branch?.stages
        let stage = index.map { first?.below($0) } ?? first
        switch (branch, isOpen) {
        case (nil, true): return pass(&event, through: stage, nil, trace)
        case (nil, false): return drop(.shutDown, trace)
        case (let branch?, true): return pass(&event, through: stage, to: branch.route, nil, trace)
        case (let branch?, false): return drop(.shutDown, from: branch.route, trace)
        }
    }

    // MARK: Passing

    /// Lets an event pass the rest of the shared processors, and all routes.
    ///
    /// - Returns: whether at least one route has stored the event, or its group will store it.
    private func pass(
        _ event: inout Event, through stage: Stage?, _ group: EventGroup?, _ trace: TraceRecording?
    ) -> Bool {
        switch process(&event, stage, trace) {
        case .keep: break
        case .drop(let reason): return drop(reason, trace)
        case .hold:
            state.withLock { $0.ledger.held += 1 }
            trace?.end(.hold)
            return false
        }
        countSanitizations(of: &event, trace)
        guard !event.name.isEmpty else { return drop(.emptyName, trace) }
        guard let firstBranch else { return false }
        var sharedLine: EventLine?
        return pass(event, &sharedLine, to: firstBranch, group, trace)
    }

    /// Lets an event pass a branch and those after it. The routes that leave the event as it is share one line.
    private func pass(
        _ event: borrowing Event, _ sharedLine: inout EventLine?, to branch: Branch, _ group: EventGroup?,
        _ trace: TraceRecording?
    ) -> Bool {
        let isStored: Bool
        if let stages = branch.stages {
            branch.route.count { $0.received += 1 }
            var own = copy event
            own.chain = branch.chain
            trace?.enter(branch.route, own)
            isStored = pass(&own, through: stages, to: branch.route, group, trace)
        } else {
            isStored = store(
                event, &sharedLine, sharesLine: branch.next != nil, in: branch.route, isNew: true, group, trace)
        }
        guard let next = branch.next else { return isStored }
        return pass(event, &sharedLine, to: next, group, trace) || isStored
    }

    /// Lets an event pass the rest of a route's processors, and stores it.
    private func pass(
        _ event: inout Event, through stage: Stage?, to route: RouteRuntime, _ group: EventGroup?,
        _ trace: TraceRecording?
    ) -> Bool {
        switch process(&event, stage, trace) {
        case .keep: break
        case .drop(let reason): return drop(reason, from: route, trace)
        case .hold:
            route.count { $0.held += 1 }
            trace?.end(.hold)
            return false
        }
        guard !event.name.isEmpty else { return drop(.emptyName, from: route, trace) }
        countSanitizations(of: &event, trace)
        var line: EventLine?
        return store(event, &line, sharesLine: false, in: route, isNew: false, group, trace)
    }

    @inline(__always)
    private func process(_ event: inout Event, _ stage: Stage?, _ trace: TraceRecording?) -> Disposition {
        if let trace { trace.process(stage, &event) } else { stage?.process(&event) ?? .keep }
    }

    /// Stores an event in a route, or in the group of its thread. Uses `line` if it isn't nil. Otherwise it encodes the event,
    /// and sets `line` if `sharesLine` is true.
    @inline(__always)
    private func store(
        _ event: borrowing Event, _ line: inout EventLine?, sharesLine: Bool, in route: RouteRuntime, isNew: Bool,
        _ group: EventGroup?, _ trace: TraceRecording?
    ) -> Bool {
        trace?.willStore()
        var failure: SluiceError?
        do throws(SluiceError) {
            let encoded = if let line { line } else { try encode(event) }
            if sharesLine { line = encoded }
            if let group, group.take(encoded, for: route, isNew: isNew) { return true }
            failure = route.append(encoded, isNew: isNew)
        } catch {
            route.refused(error, isNew: isNew)
            failure = error
        }
        trace?.didStore(in: route, failure)
        return failure == nil
    }

    private func encode(_ event: borrowing Event) throws(SluiceError) -> EventLine {
        let line = try spareBuffer.withLockIfFree { buffer throws(SluiceError) in
            try EventLine(event, limit: maximumEventBytes, reusing: &buffer)
        }
        return if let line { line } else { try EventLine(event, limit: maximumEventBytes) }
    }

    // MARK: Storing together

    /// Stores the events together that the host tracks in `body`.
    func storingTogether<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // A trace names the route that has stored the event.
        guard !isInherited, onTrace == nil, state.withLock(\.group) == nil else { return try body() }
        let (group, thread) = (EventGroup(), currentThread)
        state.withLock { $0.groups[thread] = group }
        defer {
            // If `body` has forked, the parent stores the group.
            if !isInherited {
                state.withLock { $0.groups[thread] = nil }
                group.store()
            }
        }
        return try body()
    }

    /// Runs `body`, whose events are stored one by one.
    func storingOneByOne<Value>(_ body: () -> Value) -> Value {
        guard !isInherited, let group = state.withLock(\.group) else { return body() }
        return group.suspend(body)
    }

    // MARK: Tracing

    /// Returns nil without tracing, and for an event of the closure that gets the traces.
    @inline(__always)
    private func beginTrace(_ event: Event, below index: Int? = nil) -> TraceRecording? {
        onTrace == nil ? nil : makeTrace(event, below: index)
    }

    @inline(never)
    private func makeTrace(_ event: Event, below index: Int?) -> TraceRecording? {
        guard TraceRecording.isAllowed else { return nil }
        return TraceRecording(event, startsBelow: index.map { name(of: event, $0) }, environment.time)
    }

    @inline(__always)
    private func report(_ trace: TraceRecording?) {
        if let trace, let onTrace { trace.report(to: onTrace) }
    }

    /// The type of a stage of the chain that `event` passes.
    private func name(of event: Event, _ index: Int) -> String {
        lines.first { $0.chain == event.chain && $0.index == index }.map { "\(type(of: $0.processor))" } ?? ""
    }

    // MARK: Counting

    /// - Returns: false, because the event is not stored.
    private func drop(_ reason: DropReason, _ trace: TraceRecording?) -> Bool {
        trace?.end(.drop(reason))
        let isFirst = state.withLock { state in
            state.ledger.dropped.add(1, reason)
            return state.ledger.dropped[reason] == 1
        }
        // Any other reason comes from a processor whose task is to drop events.
        if isFirst, reason == .emptyName || reason == .shutDown {
            report(.dropped, "events are dropped: \(reason.rawValue) (reported once)")
        }
        return false
    }

    /// - Returns: false, because the event is not stored.
    private func drop(_ reason: DropReason, from route: RouteRuntime, _ trace: TraceRecording?) -> Bool {
        trace?.end(.drop(reason))
        route.count { $0.dropped.add(1, reason) }
        return false
    }

    private func countSanitizations(of event: inout Event, _ trace: TraceRecording?) {
        guard let causes = event.takeSanitizations() else { return }
        trace?.sanitized(event, causes)
        state.withLock { state in
            for cause in causes { state.ledger.sanitized[cause, default: 0] += 1 }
        }
        if causes.contains(.unencodable) { reportEncodingError(of: event) }
    }

    /// Reports each error once.
    private func reportEncodingError(of event: Event) {
        let error = event.properties[encodingErrorName]?.string ?? "an unknown error"
        let message = "\(event.name) was stored without its properties (reported once): \(error)"
        let isNew = state.withLock { state in
            state.encodingErrors.count < EventPath.maximumEncodingErrors
                && state.encodingErrors.insert(message).inserted
        }
        if isNew { report(.encoding, message) }
    }

    /// The ledger without its routes.
    var ledger: Ledger {
        guard isInherited else { return state.withLock(\.ledger) }
        let count = CurrentProcess.childLock.withLock { _ in leftEvents }
        var ledger = Ledger()
        ledger.tracked = count
        if count > 0 { ledger.dropped.add(count, .leftToParentProcess) }
        return ledger
    }

    /// Whether this process is the child of a `fork`, and its parent has built the pipeline. Then other threads of the parent
    /// may have held any lock of the pipeline and its stages at the time of the fork, so the child takes none of them.
    var isInherited: Bool { creator.isParent }

    /// Drops an event of the child of a `fork`, and counts it without a lock of the parent.
    ///
    /// - Returns: the event's id.
    @inline(never)
    private func leaveToParent(_ id: EventID?) -> EventID {
        let isFirst = CurrentProcess.childLock.withLock { _ in
            leftEvents += 1
            return leftEvents == 1
        }
        if isFirst {
            report(
                .dropped,
                "the child of a fork tracks with its parent's pipeline, which drops its events (leftToParentProcess, "
                    + "reported once): build a pipeline in the child")
        }
        return id ?? .make(at: .now)
    }

    func report(_ kind: Diagnostic.Kind, _ message: String) {
        onDiagnostic(Diagnostic(kind: kind, route: "", message: message))
    }

    // MARK: Signals and the end

    /// Gives a signal to all processors, in two passes. On entering, first every processor updates its state, then they
    /// track their events. On leaving, they first track their events, from the last line to the first, and then every
    /// processor updates its state.
    func receive(_ signal: Signal) {
        storingOneByOne {
            if signal.isLeaving {
                for line in lines.reversed() { line.processor.emit(for: signal) }
                for line in lines { line.processor.update(for: signal) }
            } else {
                for line in lines { line.processor.update(for: signal) }
                for line in lines { line.processor.emit(for: signal) }
            }
        }
    }

    /// The processors of each chain.
    var chains: [[any Processor]] {
        Dictionary(grouping: lines, by: \.chain).values.map { $0.map(\.processor) }
    }

    func close() {
        state.withLock { $0.isOpen = false }
    }
}
