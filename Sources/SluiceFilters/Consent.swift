public import Sluice

/// Lets events pass only with the user's consent, and remembers the answer across launches.
///
/// ```swift
/// let consent = Consent(persistedIn: .file(stateDirectory))
/// let pipeline = try Pipeline {
///     consent
///     …
/// }
/// try consent.grant()      // or deny(), when the user has answered
/// ```
///
/// Let it stand above all other stages: what is dropped here, nothing below has seen. If it is to hold events until the
/// user answers, let it stand below all others instead: held events keep what they had by then, such as the identity of
/// their moment. Dropped events are counted as ``Sluice/DropReason/consentDenied``,
/// ``Sluice/DropReason/consentPending`` or ``Sluice/DropReason/consentHeld``.
///
/// One `Consent` may stand in several pipelines, unless it holds events, and everything may be called from any thread.
/// The answer counts for events that are tracked from then on and for those that are held; what is stored already is
/// not taken back. A refusal stays until the user grants; resetting an identity, for example, does not undo it.
///
/// A damaged file is never taken for an answer: building the pipeline throws
/// ``Sluice/SluiceError/Code/corruptConsent`` until the user has been asked again.
public final class Consent: Processor {
    public static var isUnique: Bool { true }

    /// What the user has said.
    public enum Status: Sendable, Hashable {
        /// Nothing yet.
        case pending
        case granted
        case denied
    }

    /// What becomes of events before the user has answered.
    public struct PendingPolicy: Sendable, Hashable {
        enum Policy: Sendable, Hashable {
            case drop, pass
            case hold(bytes: Int)
        }

        let policy: Policy

        /// They are dropped, as ``Sluice/DropReason/consentPending``.
        public static let drop = PendingPolicy(policy: .drop)
        /// They pass: for what the user may opt out of.
        public static let pass = PendingPolicy(policy: .pass)

        /// They wait in memory, up to 1 MiB, as ``hold(upTo:)``.
        public static let hold = hold(upTo: 1_048_576)

        /// They wait in memory, and never on a disk: a grant tracks them anew with their own times and ids, a refusal or
        /// the end of the process forgets them.
        ///
        /// The ledger counts a held event as dropped, for ``Sluice/DropReason/consentHeld``, and once more as tracked
        /// when it is let go.
        ///
        /// - Parameter bytes: of events as JSON; what comes beyond it is dropped, as
        ///   ``Sluice/DropReason/consentPending``.
        public static func hold(upTo bytes: Int) -> PendingPolicy {
            PendingPolicy(policy: .hold(bytes: max(0, bytes)))
        }
    }

    fileprivate struct State {
        var status: Status?
        var held: [(line: EventLine, sanitizations: [Sanitization])] = []
        var heldBytes = 0
        var outlet: EventOutlet?
    }

    /// True while held events are tracked anew, which other filters have let pass before.
    @TaskLocal static var isLettingGo = false

    private let persistence: Persistence
    private let pending: PendingPolicy
    // Held while an answer waits for the disk, for which `track` must not wait: it takes only the other lock.
    private let changes = Locked(())
    private let current = Locked(State())

    /// Reads the answer. What goes wrong is tried again, and thrown, when a pipeline is built with it.
    ///
    /// - Parameters:
    ///   - persistence: where the answer is kept.
    ///   - pending: what becomes of events before there is an answer.
    public init(persistedIn persistence: Persistence, whilePending pending: PendingPolicy = .drop) {
        self.persistence = persistence
        self.pending = pending
        do {
            try load()
        } catch {
            // attach(to:) does the same again, and can throw.
        }
    }

    /// What the user has said; also `pending` while the answer cannot be read.
    public var status: Status { current.withLock { $0.status } ?? .pending }

    /// How many events wait for the answer.
    public var held: Int { current.withLock { $0.held.count } }

    /// The user agrees; kept before it returns. Held events are then tracked.
    ///
    /// - Throws: an error of the file; the answer is then as it was.
    public func grant() throws(SluiceError) {
        try set(.granted)
        let (held, outlet) = current.withLock { state in
            defer { state.forget() }
            return (state.held, state.outlet)
        }
        guard let outlet else { return }
        Consent.$isLettingGo.withValue(true) {
            for (line, sanitizations) in held { letGo(line, sanitizations, outlet) }
        }
    }

    /// The user refuses; kept before it returns. Held events are forgotten.
    ///
    /// - Throws: an error of the file. The refusal counts all the same until the process ends.
    public func deny() throws(SluiceError) {
        // First, so that nothing passes while the disk is waited for, or when it fails.
        current.withLock { state in
            state.status = .denied
            state.forget()
        }
        try set(.denied)
    }

    private func letGo(_ line: EventLine, _ sanitizations: [Sanitization], _ outlet: EventOutlet) {
        do throws(SluiceError) {
            let event = try line.event()
            outlet.track(event.name, event.properties, priority: event.priority) { new in
                new.time = event.time
                new.distinctID = event.distinctID
                new.anonymousID = event.anonymousID
                new.loginID = event.loginID
                for sanitization in sanitizations { new.report(sanitization) }
            }
        } catch {
            outlet.report("an event that was held for the user's consent cannot be read: \(error)")
        }
    }

    private func set(_ status: Status) throws(SluiceError) {
        try changes.withLock { () throws(SluiceError) in
            try persistence.write(status)
            current.withLock { $0.status = status }
        }
    }

    private func load() throws(SluiceError) {
        try changes.withLock { () throws(SluiceError) in
            guard current.withLock({ $0.status }) == nil else { return }
            let status = try persistence.read()
            // A refusal that came meanwhile is the newer answer.
            current.withLock { $0.status = $0.status ?? status }
        }
    }

    public func attach(to outlet: EventOutlet) throws {
        try load()
        guard case .hold = pending.policy else { return }
        try current.withLock { state in
            guard state.outlet == nil else {
                throw SluiceError(
                    .invalidPipeline, "a Consent that holds events stands in two pipelines: give each one of its own")
            }
            state.outlet = outlet
        }
    }

    public func process(_ event: inout Event) -> Disposition {
        current.withLock { state in
            switch state.status ?? .pending {
            case .granted: return .keep
            case .denied: return .drop(.consentDenied)
            case .pending:
                switch pending.policy {
                case .drop: return .drop(.consentPending)
                case .pass: return .keep
                case .hold(let bytes): return .drop(state.hold(event, upTo: bytes))
                }
            }
        }
    }
}

extension Consent.State {
    fileprivate mutating func hold(_ event: Event, upTo limit: Int) -> DropReason {
        do throws(SluiceError) {
            let line = try EventLine(event, limit: limit - heldBytes)
            held.append((line, event.reportedSanitizations))
            heldBytes += line.bytes.count
            return .consentHeld
        } catch {
            return .consentPending
        }
    }

    fileprivate mutating func forget() {
        held = []
        heldBytes = 0
    }
}
