/// The parts that all chains of a pipeline share: the ids and counts of events, the groups of threads, encoding,
/// diagnostics and tracing.
final class EventPath: Sendable {
    /// The counts of one chain.
    struct Counts: Sendable {
        /// Events that entered the chain. The host tracks into the chain that all routes share, a plugin into its own.
        var entered = 0
        /// Events that a processor of the chain holds.
        var held = 0
        /// Events that ended in the chain.
        var dropped: [DropReason: Int] = [:]
        /// Values that were truncated or removed.
        var sanitized: [Sanitization: Int] = [:]
    }

    private struct State {
        var isOpen = true
        var ids = EventIDGenerator()
        /// The counts of the chain that all routes share, then the counts of each route's chain.
        var counts: [Counts]
        /// The encoding errors that were reported, at most ``EventPath/maximumEncodingErrors``.
        var encodingErrors: Set<String> = []
        /// The threads that store events together.
        var groups: [UInt: EventGroup] = [:]
        /// The last group, reused for the next one.
        var spareGroup: EventGroup?

        /// The group of the current thread.
        var group: EventGroup? { groups.isEmpty ? nil : groups[currentThread] }
    }

    private static let maximumEncodingErrors = 100

    let environment: PipelineEnvironment
    private let maximumEventBytes: Int
    private let onDiagnostic: @Sendable (Diagnostic) -> Void
    /// Nil without tracing, which then costs one comparison for each event and each step of it.
    private let onTrace: (@Sendable (EventTrace) -> Void)?
    private let state: Locked<State>
    private let creator = CreatingProcess()
    private let userChanges = Published(UserChanges(1, []))

    private final class UserChanges: Sendable {
        /// The beginnings and ends of changes of the user so far.
        let count: UInt16
        /// The threads that are changing the user; nil for a change in which no thread makes events.
        let threads: [UInt?]

        init(_ count: UInt16, _ threads: [UInt?]) { (self.count, self.threads) = (count, threads) }
    }

    /// The events that the child of a `fork` has tracked here.
    // nonisolated(unsafe): CurrentProcess.childLock protects it.
    @exclusivity(unchecked) nonisolated(unsafe) private var leftEvents = 0
    /// The buffer of the last line, reused for the next one. While another thread uses it, a line gets its own.
    private let spareBuffer = Locked<[UInt8]>([])

    init(
        routes: Int, maximumEventBytes: Int, environment: PipelineEnvironment,
        onDiagnostic: @escaping @Sendable (Diagnostic) -> Void, onTrace: (@Sendable (EventTrace) -> Void)?
    ) {
        (self.maximumEventBytes, self.environment) = (maximumEventBytes, environment)
        (self.onDiagnostic, self.onTrace) = (onDiagnostic, onTrace)
        state = Locked(State(counts: Array(repeating: Counts(), count: routes + 1)))
    }

    /// False in the child of a `fork` too.
    var isOpen: Bool { !isInherited && state.withLock(\.isOpen) }

    func close() { state.withLock { $0.isOpen = false } }

    // MARK: Counting

    /// The values that an event gets when it enters a chain.
    struct Entry {
        let time: Timestamp
        let id: EventID
        /// Whether the pipeline accepts events.
        let isOpen: Bool
        /// The group of the thread that tracks the event.
        let group: EventGroup?
        let userChanges: UInt16
    }

    /// Counts an event that enters a chain, and gives it the time and an id, unless it has one.
    // Inlined, because each event enters a chain.
    @inline(__always)
    func enter(_ chain: Int, id: EventID?) -> Entry {
        let time = environment.time.wallTime()
        return state.withLock { state in
            state.counts[chain].entered += 1
            return Entry(
                time: time, id: id ?? state.ids.next(at: time, in: environment), isOpen: state.isOpen,
                group: state.group, userChanges: currentUserChanges)
        }
    }

    /// Runs `body`, which changes the user step by step. Until it returns, other threads can see the ids of one user and the
    /// session of the other. The events of `thread` belong to the former user.
    func changingUser<Result>(by thread: UInt?, _ body: () -> Result) -> Result {
        countUserChange { $0 + [thread] }
        defer { countUserChange { Array($0.prefix { $0 != thread } + $0.drop { $0 != thread }.dropFirst()) } }
        return body()
    }

    private func countUserChange(_ threads: ([UInt?]) -> [UInt?]) {
        state.withLock { _ in
            let former = userChanges.value
            userChanges.replace(with: UserChanges(max(1, former.count &+ 1), threads(former.threads)))
        }
    }

    /// The changes of the user so far, as events have them that enter now.
    var currentUserChanges: UInt16 { userChanges.read(\.count) }

    /// Whether another thread is changing the user, or a change has begun or ended after so many, which are unknown if they
    /// are 0.
    func hasOtherUser(after changes: UInt16) -> Bool {
        userChanges.read { known in
            changes > 0 && changes != known.count || !known.threads.isEmpty && !known.threads.contains(currentThread)
        }
    }

    /// Changes the counts of a chain.
    func update(_ chain: Int, _ body: (inout Counts) -> Void) { state.withLock { body(&$0.counts[chain]) } }

    /// Counts events that end in a chain.
    ///
    /// - Returns: whether they are the first ones with this reason.
    func drop(_ count: Int, _ reason: DropReason, _ chain: Int) -> Bool {
        state.withLock { $0.counts[chain].dropped.add(count, reason) }
    }

    /// Counts events from before the pipeline that have not entered a chain.
    func dropUnentered(_ count: Int, _ reason: DropReason, _ chain: Int = 0, route: String? = nil) {
        update(chain) { $0.entered += count }
        _ = drop(count, reason, chain)
        report(
            .dropped, "events from before the pipeline was built are dropped: \(count) (\(reason.rawValue))",
            route: route)
    }

    /// Counts the sanitizations of an event, and reports an encoding error once.
    func count(_ causes: Set<Sanitization>, of event: borrowing Event, _ chain: Int) {
        update(chain) { counts in
            for cause in causes { counts.sanitized[cause, default: 0] += 1 }
        }
        guard causes.contains(.unencodable) else { return }
        let error = event.properties[encodingErrorName]?.string ?? "an unknown error"
        let message = "\(event.name) was stored without a part of it (reported once): \(error)"
        let isFirst = state.withLock { state in
            state.encodingErrors.count < EventPath.maximumEncodingErrors
                && state.encodingErrors.insert(message).inserted
        }
        if isFirst { report(.encoding, message) }
    }

    /// A ledger with the counts of all chains and of `routes`.
    func ledger(_ routes: [RouteLedger]) -> Ledger {
        if isInherited { return inheritedLedger }
        let counts = state.withLock(\.counts)
        var ledger = Ledger()
        (ledger.tracked, ledger.dropped, ledger.held) = (counts[0].entered, counts[0].dropped, counts[0].held)
        for counts in counts { ledger.sanitized.merge(counts.sanitized, uniquingKeysWith: +) }
        ledger.routes = zip(routes, counts.dropFirst()).map { route, counts in
            var route = route
            (route.inserted, route.held) = (counts.entered, counts.held)
            route.dropped.merge(counts.dropped, uniquingKeysWith: +)
            return route
        }
        return ledger
    }

    // MARK: After a fork

    /// Whether this process is the child of a `fork`, and its parent has built the pipeline. Other threads of the
    /// parent may have held any lock of the pipeline and its stages at the time of the fork: the child takes none.
    var isInherited: Bool { creator.isParent }

    /// Drops an event of the child of a `fork`, and counts it without a lock of the parent.
    ///
    /// - Returns: the event's id.
    @inline(never)
    func leaveToParent(_ id: EventID?) -> EventID {
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

    /// The counts of the child of a `fork`.
    private var inheritedLedger: Ledger {
        var ledger = Ledger()
        ledger.tracked = CurrentProcess.childLock.withLock { _ in leftEvents }
        if ledger.tracked > 0 { ledger.dropped.add(ledger.tracked, .leftToParentProcess) }
        return ledger
    }

    // MARK: Encoding

    func encode(_ event: borrowing Event) throws(SluiceError) -> EventLine {
        let line = try spareBuffer.withLockIfFree { buffer throws(SluiceError) in
            try EventLine(event, limit: maximumEventBytes, reusing: &buffer)
        }
        return if let line { line } else { try EventLine(event, limit: maximumEventBytes) }
    }

    // MARK: Storing together

    /// Stores the events together that the host tracks in `body`.
    func storingTogether<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        // A trace names the route that has stored the event.
        guard !isInherited, onTrace == nil, state.withLock(\.group) == nil else { return try body() }
        let thread = currentThread
        let group = state.withLock { state in
            let group = state.spareGroup.take() ?? EventGroup()
            state.groups[thread] = group
            return group
        }
        defer {
            // If `body` has forked, the parent stores the group.
            if !isInherited {
                state.withLock { $0.groups[thread] = nil }
                group.finish()
                state.withLock { $0.spareGroup = group }
            }
        }
        return try body()
    }

    /// Runs `body`, whose events are stored one by one.
    func storingOneByOne<Value>(_ body: () -> Value) -> Value {
        guard !isInherited, let group = state.withLock(\.group) else { return body() }
        return group.suspend(body)
    }

    // MARK: Reporting

    func report(_ kind: Diagnostic.Kind, _ message: String, route: String? = nil) {
        onDiagnostic(Diagnostic(kind: kind, route: route, message: message))
    }

    /// Returns nil without tracing, and for an event of the closure that gets the traces.
    // A closure, because an argument would be copied without tracing too.
    @inline(__always)
    func beginTrace(
        _ event: @autoclosure () -> Event, in route: String?, below plugin: @autoclosure () -> String? = nil
    ) -> TraceRecording? {
        onTrace == nil ? nil : makeTrace(event(), in: route, below: plugin())
    }

    @inline(never)
    private func makeTrace(_ event: Event, in route: String?, below plugin: String?) -> TraceRecording? {
        TraceRecording.isAllowed ? TraceRecording(event, in: route, below: plugin, environment.time) : nil
    }

    @inline(__always)
    func report(_ trace: TraceRecording?) {
        if let trace, let onTrace { trace.report(to: onTrace) }
    }
}
