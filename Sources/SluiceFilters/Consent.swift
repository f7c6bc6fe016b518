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
/// Let it stand above all other stages: what is dropped here, nothing below has seen. Dropped events are counted as
/// ``Sluice/DropReason/consentDenied`` or ``Sluice/DropReason/consentPending``.
///
/// One `Consent` may stand in several pipelines, and everything may be called from any thread. The answer counts for
/// events that are tracked from then on; those that are stored already are not taken back.
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
        let passes: Bool

        /// They are dropped, as ``Sluice/DropReason/consentPending``.
        public static let drop = PendingPolicy(passes: false)
        /// They pass: for what the user may opt out of.
        public static let pass = PendingPolicy(passes: true)
    }

    private let persistence: Persistence
    private let pending: PendingPolicy
    // Held while an answer waits for the disk, for which `track` must not wait: it takes only the other lock.
    private let changes = Locked(())
    private let current = Locked<Status?>(nil)

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
    public var status: Status { current.withLock { $0 } ?? .pending }

    /// The user agrees; kept before it returns.
    ///
    /// - Throws: an error of the file; the answer is then as it was.
    public func grant() throws(SluiceError) {
        try set(.granted)
    }

    /// The user refuses; kept before it returns.
    ///
    /// - Throws: an error of the file. The refusal counts all the same until the process ends.
    public func deny() throws(SluiceError) {
        // First, so that nothing passes while the disk is waited for, or when it fails.
        current.withLock { $0 = .denied }
        try set(.denied)
    }

    private func set(_ status: Status) throws(SluiceError) {
        try changes.withLock { (_) throws(SluiceError) in
            try persistence.write(status)
            current.withLock { $0 = status }
        }
    }

    private func load() throws(SluiceError) {
        try changes.withLock { (_) throws(SluiceError) in
            guard current.withLock({ $0 }) == nil else { return }
            let status = try persistence.read()
            // A refusal that came meanwhile is the newer answer.
            current.withLock { $0 = $0 ?? status }
        }
    }

    public func attach(to outlet: EventOutlet) throws {
        try load()
    }

    public func process(_ event: inout Event) -> Disposition {
        switch status {
        case .granted: .keep
        case .denied: .drop(.consentDenied)
        case .pending: pending.passes ? .keep : .drop(.consentPending)
        }
    }
}
