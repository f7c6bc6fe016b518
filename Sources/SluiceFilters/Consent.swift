public import Sluice

/// Collects events only with the user's consent, and remembers the answer across launches.
///
/// ```swift
/// let consent = Consent(persistedIn: .file(stateDirectory))
/// let pipeline = try Pipeline {
///     consent
///     …
/// }
/// try consent.grant()  // Or deny(), when the user has answered.
/// ```
///
/// List it above all other stages, so they never see a dropped event. To hold events until the user answers, pass
/// `whilePending: .hold`, and list it below all other stages. Held events keep their ids, their times and the
/// properties that the stages above have added. They wait in memory only, never on disk. Events that are tracked during
/// ``grant()`` continue after the held ones, so all events of a caller keep their order. Above the routes, this also applies
/// to the events that plugins make in a route: they continue in that route only, and end with their pipeline.
///
/// ## Nothing is stored without consent
///
/// While events don't pass, the plugins of the same chain keep their state in memory, wherever this stage is listed in
/// it: `identity.json`, `sessions.json` and all others that are kept in a ``Sluice/PersistedState``. In the chain that all
/// routes share, this also applies to the plugins of the routes. In a route, it applies to that route only.
///
/// - ``grant()`` combines the state in memory with the stored one, if there is one, and stores it.
/// - ``deny()`` removes what is stored. The state in memory stays until the process ends, for a later grant.
/// - After a restart without consent, no state is read or written.
/// - With `whilePending: .keep`, state is stored like events, until a denial.
///
/// The answer itself and the setting of ``CollectionSettings`` are always kept.
///
/// A route whose `Consent` is granted after a login gets the `$SignUp` of an `Identity` that it has missed, once, even
/// if the grant comes in a later launch. No other route gets it a second time. The event has passed all stages above
/// this one, so it is redacted, sampled and so on like any other:
///
/// - If this stage has dropped it in the same launch, before the answer, that event continues below this stage.
/// - Otherwise, the event passes the stages above the routes, and then the stages of this route. If a stage above the
///   routes drops it, this route doesn't get it. Drops by ``Deduplication``, ``RateLimit`` and ``CollectionSettings``
///   depend on the moment: after one, the next launch tries it once more.
///
/// The route also gets an `$AppInstall` that this stage has dropped before the answer, if the grant comes in the same
/// launch.
///
/// Each pipeline needs an object of its own. You can call it from any thread. The answer applies to later events and to
/// held events, but not to stored ones. A denial lasts until the user grants consent. Resetting an identity, for
/// example, doesn't change it.
///
/// Building the pipeline throws if the answer can't be read. A damaged answer is reported, and no event passes until
/// you have asked the user a second time, even with `whilePending: .keep`.
public final class Consent: Processor {
    /// True: an event passes at most one.
    public static var isUnique: Bool { true }

    /// The user's answer.
    public enum Status: Sendable, Hashable {
        /// The user has not answered.
        case pending
        /// The user agrees.
        case granted
        /// The user refuses.
        case denied
    }

    struct Answer: PersistedValue {
        enum Kind: String, Sendable {
            case pending, granted, denied
            /// The stored answer is damaged.
            case lost
        }

        var kind: Kind
        /// Whether events that were held before the grant still wait. Later ones are then held too. It isn't stored.
        var isReleasing = false
        /// Whether the receiver still misses the event that joins the user's ids.
        var owesJoin = false
        /// Whether stored states must still be removed, because no pipeline was there at the denial, or a place failed.
        var owesRemoval = false

        init(_ kind: Kind) { self.kind = kind }

        init?(_ object: Properties) {
            guard let kind = object["status"]?.string.flatMap({ Kind(rawValue: $0) }) else { return nil }
            self.kind = kind
            owesJoin = object["owes_join"] == true
            owesRemoval = object["owes_removal"] == true
        }

        var object: Properties {
            var object: Properties = ["status": .string(kind.rawValue)]
            if owesJoin { object["owes_join"] = true }
            if owesRemoval { object["owes_removal"] = true }
            return object
        }

        static func == (one: Answer, other: Answer) -> Bool { one.object == other.object }
    }

    /// The treatment of events before the user has answered.
    public enum WhilePending: Sendable, Hashable {
        /// Events continue. Use this where the user can only opt out.
        case keep
        /// Events end, and are counted as ``Sluice/DropReason/consentPending``.
        case drop
        /// Events wait for the answer.
        case hold
    }

    struct Held {
        var events: ArraySlice<(event: PluginEvent, bytes: Int)> = []
        var bytes = 0
        /// The last `$AppInstall` and `$SignUp` that were dropped before the answer, by their names.
        var missed: [String: Event] = [:]
        /// The thread that lets the events continue.
        var releaser: UInt?

        /// Takes all events, or only the ones of other plugins, which stay when the consent moves to another pipeline.
        mutating func take(all: Bool) -> [PluginEvent] {
            let taken = events.map(\.event).filter { all || $0.place != nil }
            events.removeAll { all || $0.event.place != nil }
            bytes = events.reduce(0) { $0 + $1.bytes }
            if all { missed = [:] }
            return taken
        }
    }

    /// Connects this plugin to its pipelines.
    public let context = PluginContext()
    private let whilePending: WhilePending
    private let maximumBytes: Int
    let answer: PersistedState<Answer>
    /// The gate of the states in the chain.
    let states: StateGate
    let waiting = Locked(Held())

    /// Creates a consent. The answer is read when the pipeline is built, or when you first ask for it.
    ///
    /// ```swift
    /// let optOut = Consent(persistedIn: .file(stateDirectory), whilePending: .keep)
    /// let optIn = Consent(persistedIn: .file(stateDirectory), whilePending: .hold, holdingUpTo: 262_144)
    /// ```
    ///
    /// - Parameters:
    ///   - persistence: Where to keep the answer.
    ///   - whilePending: The treatment of events before the user has answered.
    ///   - maximumBytes: The most bytes of JSON that `.hold` keeps. Further events are dropped as
    ///     ``Sluice/DropReason/consentPending``.
    public init(
        persistedIn persistence: Persistence, whilePending: WhilePending = .drop,
        holdingUpTo maximumBytes: Int = 1_048_576
    ) {
        self.whilePending = whilePending
        self.maximumBytes = maximumBytes
        answer = PersistedState(
            "consent", in: persistence, initial: Answer(.pending), ifDamaged: Answer(.lost), report: context.report)
        states = StateGate { [answer] in
            let known = answer.value
            let disposition = known.kind == .granted ? .keep : Consent.disposition(known, whilePending)
            if disposition == .keep { return known.owesJoin ? .openLate : .open }
            return .closed(disposition?.dropReason ?? .consentPending, owesRemoval: known.owesRemoval)
        }
    }

    deinit {
        // Their plugins may be listed in another pipeline, whose ledger then counts them.
        for event in waiting.withLock({ $0.take(all: true) }) { event.plugin.drop(event, because: .shutDown) }
    }

    /// The user's answer. It is `pending` while it can't be read, and after a launch whose ``grant()`` or ``deny()`` threw: the
    /// answer could not be kept, so ask once more.
    ///
    /// ```swift
    /// if consent.status == .pending { askForConsent() }
    /// ```
    public var status: Status { [.granted: .granted, .denied: .denied][answer.value.kind] ?? .pending }

    /// The number of events that wait for the answer.
    public var held: Int { waiting.withLock { $0.events.count } }

    /// Records that the user agrees, stores the state of the chain's plugins, and lets held events continue. The answer is
    /// on disk when this method returns.
    ///
    /// Events of other threads wait until the held ones have continued, and continue after them. The limit of `holdingUpTo`
    /// doesn't apply to them. Events that a stage tracks while it gets a held one pass immediately. A second call during the
    /// first one returns without waiting for it.
    ///
    /// ```swift
    /// do {
    ///     try consent.grant()
    /// } catch {
    ///     print("The answer wasn't saved: \(error)")  // Ask the user later.
    /// }
    /// ```
    ///
    /// - Throws: The error of the place where the answer is kept. The answer is then unchanged.
    public func grant() throws(SluiceError) {
        let former = answer.value
        do throws(SluiceError) {
            try answer.save { answer in
                if answer.kind != .granted {
                    answer.owesJoin = Consent.disposition(answer, whilePending) != .keep
                    answer.isReleasing = whilePending == .hold
                }
                (answer.kind, answer.owesRemoval) = (.granted, false)
            }
        } catch {
            // A denial by another thread stays, and so does an earlier grant.
            answer.update { if $0.kind == .granted, former.kind != .granted { $0 = former } }
            throw error
        }
        letContinue()
    }

    /// Records that the user refuses, and drops held events. The answer is on disk when this method returns, and the
    /// stored state of the chain's plugins is removed.
    ///
    /// ```swift
    /// do {
    ///     try consent.deny()
    /// } catch {
    ///     print("The answer wasn't saved: \(error)")  // It holds until the process ends.
    /// }
    /// ```
    ///
    /// - Throws: The error of the place where the answer or a state is kept. The denial then lasts until the process
    ///   ends. Call this method later to repeat it. ``Sluice/SluiceError/Code/invalidPipeline`` if another object stands in a
    ///   pipeline with this place: call this method of that object.
    public func deny() throws(SluiceError) {
        defer { dropHeld(.consentDenied) }
        // In memory first: nothing passes while the disk is busy or if it fails.
        answer.note { $0 = Answer(.denied) }
        // Before the answer is stored: otherwise a crash in between would leave the states.
        let failure = SluiceError.of(try states.remove(forgetting: false))
        try answer.save { $0.owesRemoval = $0.kind == .denied && (failure != nil || !states.isInPipeline) }
        if let failure { throw failure }
    }

    /// Reads the answer.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if `holdingUpTo` is not positive, and the error of the place
    ///   where the answer is kept.
    public func prepare() throws {
        try SluiceError.require(
            maximumBytes > 0, "a Consent that holds up to \(maximumBytes) bytes drops all: hold more")
        try answer.load(behind: nil)
        dropHeld(.shutDown, all: false)
        context.whenOpen { [weak self] in
            if self?.answer.value.isReleasing == true { self?.letContinue() } else { self?.join() }
        }
    }

    /// Keeps, drops or holds the event, depending on the answer.
    public func process(_ event: inout Event) -> Disposition {
        let known = answer.value
        let disposition = Consent.disposition(known, whilePending) ?? hold(PluginEvent(event, of: context))
        // The identity repeats the event by itself.
        if known.owesJoin, !disposition.isHold, isJoin(event) { answer.update { $0.owesJoin = false } }
        if disposition == .drop(.consentPending), event.name == "$AppInstall" || isJoin(event) {
            let missed = event
            waiting.withLock { $0.missed[missed.name] = missed }
        }
        return disposition
    }

    private func hold(_ new: PluginEvent) -> Disposition {
        waiting.withLock { held in
            // Another thread may have recorded the answer since the first check, or may have let all held events continue.
            let known = answer.value
            if let disposition = Consent.disposition(known, whilePending) { return disposition }
            // A stage tracks it for an event that continues now.
            if known.isReleasing, held.releaser == currentThread { return .keep }
            let (event, pending) = (new.event, Disposition.drop(.consentPending))
            // An identity below repeats it, because it doesn't know that the event is held.
            if event.name == "$SignUp", held.events.contains(where: { $0.0.event.id == event.id }) { return pending }
            do throws(SluiceError) {
                let limit = known.isReleasing ? .max : maximumBytes - held.bytes
                let bytes = try EventLine(event, limit: limit).bytes.count
                held.bytes += bytes
                held.events.append((new, bytes))
            } catch {
                return pending
            }
            return context.hold(new)
        }
    }

    /// Returns when the answer is stored.
    public func finish() async {
        // The pipeline has been built, so the states are removed.
        if answer.value.owesRemoval, SluiceError.of(try states.remove(forgetting: false)) == nil {
            answer.update { $0.owesRemoval = false }
        }
        await answer.finish()
    }

    /// Drops held events. The answer stays.
    public func forget() { dropHeld(.deleted) }

    /// Nil if an event is held.
    private static func disposition(_ answer: Answer, _ whilePending: WhilePending) -> Disposition? {
        switch (answer.kind, whilePending) {
        case (.granted, _): answer.isReleasing ? nil : .keep
        case (.denied, _): .drop(.consentDenied)
        case (.pending, .keep): .keep
        case (.pending, .hold), (.lost, .hold): nil
        case (.pending, .drop), (.lost, _): .drop(.consentPending)
        }
    }

    /// Ends held events.
    private func dropHeld(_ reason: DropReason, all: Bool = true) {
        for event in waiting.withLock({ $0.take(all: all) }) { context.drop(event, because: reason) }
    }
}

extension Consent: StateKeeper {
    package func admit(_ event: PluginEvent) -> Disposition {
        Consent.disposition(answer.value, whilePending) ?? hold(event)
    }

    package func gate(below gate: StateGate) throws -> StateGate {
        try StateGate.$current.withValue(gate) { try answer.load(behind: nil) }
        states.stand(below: gate)
        return states
    }
}
