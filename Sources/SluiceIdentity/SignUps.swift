internal import Sluice

/// Tracks the `$SignUp` of an identity until a route has stored it.
///
/// Every attempt has the same id, so a receiver recognizes a repetition. A sign-up is repeated in these cases:
///
/// - The process has crashed after the event was tracked, and before the ids on disk said so.
/// - A stage below has held or dropped the event: it has passed the identity's stage, so the next launch repeats it.
/// - A stage above has dropped the event: it is repeated at the next opportunity.
/// - One route has stored it, and another one lacks the user's consent: the `Consent` there repeats it when it is granted.
final class SignUps: Sendable {
    private struct State {
        /// The pending sign-up, until this launch tracks it.
        var pending: UserIDs.SignUp?
        var isLoaded = false
        /// The last sign-up that has passed the identity's stage.
        var passed: EventID?
    }

    private let ids: IdentityState
    private let context: PluginContext
    private let state = Locked(State())

    init(of ids: IdentityState, _ context: PluginContext) {
        self.ids = ids
        self.context = context
    }

    var isLoaded: Bool { state.withLock(\.isLoaded) }

    /// Takes over the sign-up that an earlier launch has not stored.
    func load() {
        state.withLock { state in
            if !state.isLoaded { state.pending = ids.memory.withLock { $0.ids?.pendingSignUp } }
            state.isLoaded = true
        }
    }

    /// Remembers a sign-up that has passed the identity's stage. Call this for events with ids of their own.
    func passed(_ event: borrowing Event) {
        guard event.name == UserIDs.SignUp.eventName else { return }
        let id = event.id
        state.withLock { $0.passed = id }
    }

    /// Tracks a new sign-up, or a pending one. Once a route has stored it, removes it from the ids.
    func track(_ new: UserIDs.SignUp? = nil) {
        let pending = state.withLock { state in
            defer { state.pending = nil }
            return new ?? state.pending
        }
        // A reset or another login may have replaced it.
        guard let signUp = pending,
            let extras = ids.memory.withLock({ $0.ids?.signUp == signUp ? $0.ids?.extras : nil })
        else { return }
        let isStored = context.track(UserIDs.SignUp.eventName) { event in
            event = signUp.event(with: extras)
        }
        if isStored {
            ids.stored(signUp)
        } else {
            let isPending = ids.memory.withLock { $0.ids?.signUp == signUp }
            state.withLock { state in
                if isPending, state.passed != signUp.id, state.pending == nil { state.pending = signUp }
            }
        }
    }
}

extension SignUps: KeptState {
    func keep() {
        ids.keep()
        // If it was tracked in a route without the user's consent for the pipeline.
        track()
    }

    func remove(forgetting: Bool) throws(SluiceError) -> Int { try ids.remove(forgetting: forgetting) }

    func join(_ deliver: (Event) -> Bool) -> Bool { ids.join(deliver) }
}
