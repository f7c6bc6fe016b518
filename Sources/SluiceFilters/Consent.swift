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

    private enum Answer: String, PersistedValue {
        case pending, granted, denied
        /// The stored answer is damaged.
        case lost

        init?(_ object: Properties) {
            guard case .string(let text) = object["status"] else { return nil }
            self.init(rawValue: text)
        }

        var object: Properties { ["status": .string(rawValue)] }

        var status: Status {
            switch self {
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
    }

    /// Connects this plugin to its pipelines.
    public let context = PluginContext()
    private let whilePending: WhilePending
    private let maximumBytes: Int
    private let answer: PersistedState<Answer>
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
            "consent", in: persistence, initial: .pending, ifDamaged: .lost, report: context.report)
    }

    /// The user's answer. It is `pending` while it can't be read.
    ///
    /// ```swift
    /// if consent.status == .pending { askForConsent() }
    /// ```
    public var status: Status { answer.value.status }

    /// The number of events that wait for the answer.
    public var held: Int { waiting.withLock { $0.events.count } }

    /// Records that the user agrees, and lets held events continue. The answer is on disk when this method returns.
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
            try answer.save { $0 = .granted }
        } catch {
            // A denial by another thread stays.
            answer.update { if $0 == .granted { $0 = former } }
            throw error
        }
        for event in takeHeld() { context.forward(event) }
    }

    /// Records that the user refuses, and drops held events. The answer is on disk when this method returns.
    ///
    /// ```swift
    /// try consent.deny()
    /// ```
    ///
    /// - Throws: The error of the place where the answer is kept. The denial then lasts until the process ends.
    public func deny() throws(SluiceError) {
        defer { for event in takeHeld() { context.drop(event, because: .consentDenied) } }
        // In memory first: nothing passes while the disk is busy or if it fails.
        try answer.save { $0 = .denied }
    }

    /// Reads the answer.
    ///
    /// - Throws: The error of the place where the answer is kept.
    public func prepare() throws { try answer.load() }

    /// Keeps, drops or holds the event, depending on the answer.
    public func process(_ event: inout Event) -> Disposition {
        if let disposition = disposition { return disposition }
        return waiting.withLock { held in
            // Another thread may have recorded the answer since the first check. It does so before it takes the held
            // events.
            if let disposition = disposition { return disposition }
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
    public func finish() async { await answer.finish() }

    /// Nil if an event is held.
    private var disposition: Disposition? {
        switch answer.value {
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

    private func takeHeld() -> [Event] {
        waiting.withLock { held in
            defer { held = Held() }
            return held.events
        }
    }
}
