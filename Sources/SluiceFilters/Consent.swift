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
/// properties that the stages above have added. They wait in memory only, never on disk.
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
/// A route whose `Consent` is granted after a login gets the `$SignUp` of an `Identity` that it has missed, once, also
/// if the grant comes in a later launch. The event doesn't pass the stages above this one a second time. The route also
/// gets an `$AppInstall` that this stage has dropped before the answer, if the grant comes in the same launch.
///
/// Each pipeline needs an object of its own. You can call it from any thread. The answer applies to later events and to
/// held events, but not to stored ones. A denial lasts until the user grants consent. Resetting an identity, for
/// example, doesn't change it.
///
/// Building the pipeline throws if the answer can't be read. A damaged answer is reported, and no event passes until
/// you have asked the user a second time, even with `whilePending: .keep`.
public final class Consent: Processor {
    /// True, because a pipeline has at most one.
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

    private struct Answer: PersistedValue {
        enum Kind: String, Sendable {
            case pending, granted, denied
            /// The stored answer is damaged.
            case lost
        }

        var kind: Kind
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

        var status: Status {
            switch kind {
            case .pending, .lost: .pending
            case .granted: .granted
            case .denied: .denied
            }
        }
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

    private struct Held {
        var events: [Event] = []
        var bytes = 0
        /// The `$AppInstall` that was dropped before the answer.
        var install: Event?
    }

    /// Connects this plugin to its pipelines.
    public let context = PluginContext()
    private let whilePending: WhilePending
    private let maximumBytes: Int
    private let answer: PersistedState<Answer>
    /// The gate of the states in the chain.
    private let states: StateGate
    private let waiting = Locked(Held())

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
        states = StateGate(
            closedBecause: { [answer] in
                let disposition = Consent.disposition(answer.value, whilePending)
                return disposition == .keep ? nil : disposition?.dropReason ?? .consentPending
            },
            owesRemoval: { [answer] in answer.value.owesRemoval })
    }

    /// The user's answer. It is `pending` while it can't be read.
    ///
    /// ```swift
    /// if consent.status == .pending { askForConsent() }
    /// ```
    public var status: Status { answer.value.status }

    /// The number of events that wait for the answer.
    public var held: Int { waiting.withLock { $0.events.count } }

    /// Records that the user agrees, stores the state of the chain's plugins, and lets held events continue. The answer is
    /// on disk when this method returns.
    ///
    /// ```swift
    /// do {
    ///     try consent.grant()
    /// } catch {
    ///     log("The answer wasn't saved: \(error)")  // Ask the user later.
    /// }
    /// ```
    ///
    /// - Throws: The error of the place where the answer is kept. The answer is then unchanged.
    public func grant() throws(SluiceError) {
        let former = answer.value
        do throws(SluiceError) {
            try answer.save { answer in
                let hasPassed = Consent.disposition(answer, whilePending) == .keep
                answer.owesJoin = answer.owesJoin || !hasPassed
                (answer.kind, answer.owesRemoval) = (.granted, false)
            }
        } catch {
            // A denial by another thread stays.
            answer.update { if $0.kind == .granted { $0 = former } }
            throw error
        }
        let held = takeHeld()
        for event in held.events { context.forward(event) }
        if let install = held.install { context.insert(install.name, before: install) { $0 = install } }
        states.keep()
        join(except: held.events)
    }

    /// Records that the user refuses, and drops held events. The answer is on disk when this method returns, and the
    /// stored state of the chain's plugins is removed.
    ///
    /// ```swift
    /// try consent.deny()
    /// ```
    ///
    /// - Throws: The error of the place where the answer or a state is kept. The denial then lasts until the process
    ///   ends. Call this method later to repeat it.
    public func deny() throws(SluiceError) {
        defer { for event in takeHeld().events { context.drop(event, because: .consentDenied) } }
        // In memory first: nothing passes while the disk is busy or if it fails.
        answer.note { $0 = Answer(.denied) }
        // Before the answer is stored: otherwise a crash in between would leave the states.
        let failure = removeStates()
        try answer.save { $0.owesRemoval = $0.kind == .denied && (failure != nil || !states.isInPipeline) }
        if let failure { throw failure }
    }

    private func removeStates() -> SluiceError? {
        do throws(SluiceError) {
            _ = try states.remove(forgetting: false)
            return nil
        } catch {
            return error
        }
    }

    /// Stores the event that joins the user's ids, which an earlier answer has kept from the receiver.
    private func join(except held: [Event] = []) {
        guard answer.value.kind == .granted, answer.value.owesJoin, states.isInPipeline else { return }
        let isDone = states.join(except: { id in held.contains { $0.id == id } }) { event, isOwn in
            // The routes above have it already. In the own chain, the processors above add their properties.
            return isOwn
                ? context.track(event.name) { $0 = event } : context.insert(event.name, before: event) { $0 = event }
        }
        if isDone { answer.update { $0.owesJoin = false } }
    }

    /// Reads the answer.
    ///
    /// - Throws: The error of the place where the answer is kept.
    public func prepare() throws {
        try answer.load(behind: nil)
        context.whenOpen { [weak self] in self?.join() }
    }

    /// Keeps, drops or holds the event, depending on the answer.
    public func process(_ event: inout Event) -> Disposition {
        let known = answer.value
        if let disposition = Consent.disposition(known, whilePending) {
            // The identity repeats the event by itself.
            if known.owesJoin, event.name == "$SignUp", event.properties["$switches_user"] == nil {
                answer.update { $0.owesJoin = false }
            }
            if disposition == .drop(.consentPending), event.name == "$AppInstall" {
                let install = event
                waiting.withLock { $0.install = install }
            }
            return disposition
        }
        return waiting.withLock { held in
            // Another thread may have recorded the answer since the first check. It does so before it takes the held
            // events.
            if let disposition = Consent.disposition(answer.value, whilePending) { return disposition }
            // An identity below repeats it, because it doesn't know that the event is held.
            let id = event.id
            if event.name == "$SignUp", held.events.contains(where: { $0.id == id }) { return .drop(.consentPending) }
            do throws(SluiceError) {
                held.bytes += try EventLine(event, limit: maximumBytes - held.bytes).bytes.count
            } catch {
                return .drop(.consentPending)
            }
            held.events.append(event)
            return context.hold(event)
        }
    }

    /// Returns when the answer is stored.
    public func finish() async {
        // The pipeline has been built, so the states are removed.
        if answer.value.owesRemoval, removeStates() == nil { answer.update { $0.owesRemoval = false } }
        await answer.finish()
    }

    /// Drops held events. The answer stays.
    public func forget() {
        for event in takeHeld().events { context.drop(event, because: .deleted) }
    }

    /// Nil if an event is held.
    private static func disposition(_ answer: Answer, _ whilePending: WhilePending) -> Disposition? {
        switch answer.kind {
        case .granted: .keep
        case .denied: .drop(.consentDenied)
        case .lost where whilePending == .keep: .drop(.consentPending)
        case .pending, .lost:
            switch whilePending {
            case .keep: .keep
            case .drop: .drop(.consentPending)
            case .hold: nil
            }
        }
    }

    private func takeHeld() -> Held {
        waiting.withLock { held in
            defer { held = Held() }
            return held
        }
    }
}

extension Consent: StateKeeper {
    package func gate(below gate: StateGate) throws -> StateGate {
        try answer.load(behind: nil)
        states.stand(below: gate)
        return states
    }
}
