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
/// List it above all other stages, which then never see a dropped event. To hold events until the user answers, pass
/// `whilePending: .hold` and list it below all other stages instead: held events keep their ids, times, and the properties that
/// stages above have added. They wait in memory only, never on disk.
///
/// One `Consent` can be part of several pipelines, and you can call it from any thread. The answer counts for events that
/// are tracked later and for held ones, not for stored ones. A denial stays until the user grants; resetting an identity, for
/// example, doesn't change it.
///
/// Building the pipeline throws if the answer can't be read now. A damaged answer is reported; ask the user again. Until
/// then no event passes, even with `whilePending: .keep`.
public final class Consent: Processor {
    /// Returns true: a pipeline has at most one.
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
        /// There was an answer, but it is damaged.
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

    private struct Held {
        var events: [Event] = []
        var bytes = 0
    }

    /// The connection to the pipelines that this is part of.
    public let context = PluginContext()
    private let whilePending: Disposition
    private let maximumBytes: Int
    private let answer: PersistedState<Answer>
    private let waiting = Locked(Held())

    /// Creates a consent. The answer is read when the pipeline is built, or when you first ask for it.
    ///
    /// - Parameters:
    ///   - persistence: Where the answer is kept.
    ///   - disposition: The treatment of events before the user has answered. Pass `.keep` where the user can only opt out.
    ///   - maximumBytes: The size of the events, as JSON, that `.hold` keeps. Further events are dropped as
    ///     ``Sluice/DropReason/consentPending``.
    public init(
        persistedIn persistence: Persistence, whilePending disposition: Disposition = .drop(.consentPending),
        holdingUpTo maximumBytes: Int = 1_048_576
    ) {
        whilePending = disposition
        self.maximumBytes = maximumBytes
        answer = PersistedState("consent", in: persistence, context, damaged: .lost) { .pending }
    }

    /// The user's answer; `pending` while it can't be read.
    public var status: Status { answer.value?.status ?? .pending }

    /// The number of events that wait for the answer.
    public var held: Int { waiting.withLock { $0.events.count } }

    /// Records that the user agrees, on disk before it returns. Held events then continue.
    ///
    /// - Throws: An error of the place where the answer is kept; the answer is then as it was.
    public func grant() throws(SluiceError) {
        try answer.change { $0 = .granted }
        for event in takeHeld() { context.forward(event) }
    }

    /// Records that the user refuses, on disk before it returns. Held events are dropped.
    ///
    /// - Throws: An error of the place where the answer is kept. The denial counts nevertheless until the process ends.
    public func deny() throws(SluiceError) {
        // In memory first, so that nothing passes while the disk is busy or if it fails.
        answer.set(.denied)
        for event in takeHeld() { context.drop(event, .consentDenied) }
        try answer.save()
    }

    /// Reads the answer.
    ///
    /// - Throws: An error of the place where the answer is kept.
    public func prepare() throws { try answer.load() }

    /// Keeps, drops or holds the event, depending on the answer.
    public func process(_ event: inout Event) -> Disposition {
        if let disposition = disposition { return disposition }
        return waiting.withLock { held in
            // The answer may have come meanwhile; it is recorded before the held events are taken.
            if let disposition = disposition { return disposition }
            do throws(SluiceError) {
                held.bytes += try EventLine(event, limit: maximumBytes - held.bytes).bytes.count
            } catch {
                return .drop(.consentPending)
            }
            held.events.append(event)
            return .hold
        }
    }

    /// Nil if an event is held.
    private var disposition: Disposition? {
        switch answer.memory.withLock(\.value) ?? .lost {
        case .granted: .keep
        case .denied: .drop(.consentDenied)
        case .lost where whilePending == .keep: .drop(.consentPending)
        case .pending, .lost: whilePending == .hold ? nil : whilePending
        }
    }

    private func takeHeld() -> [Event] {
        waiting.withLock { held in
            defer { held = Held() }
            return held.events
        }
    }
}
