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
        let pending = state.withLock { $0.pending.take() }
        // A reset or another login may have replaced it.
        guard let signUp = new ?? pending, state.withLock({ $0.passed != signUp.id }),
            let current = ids.memory.withLock({ $0.ids?.signUp == signUp ? $0.ids : nil })
        else { return }
        // The next user's bound ids and groups would tie two people together.
        let extras = signUp.loginID.hasBytes(of: current.loginID) ? current.extras : [:]
        let isStored = context.track(UserIDs.SignUp.eventName) { event in
            event = signUp.event(with: extras)
        }
        if isStored {
            stored(signUp)
        } else {
            let isPending = ids.memory.withLock { $0.ids?.signUp == signUp }
            state.withLock { state in
                if isPending, state.passed != signUp.id, state.pending == nil { state.pending = signUp }
            }
            context.whenOpen { [weak self] in self?.track() }
        }
    }
}

// MARK: Consent and erasure

extension SignUps: EventRepeating {
    func keep() {
        ids.keep()
        // If it was tracked in a route without the user's consent for the pipeline.
        track()
    }

    func remove(forgetting: Bool) throws(SluiceError) -> Int { try ids.remove(forgetting: forgetting) }

    /// The join is one of the present user: another one has not agreed to it.
    func repeats(except isHeld: (EventID) -> Bool, _ deliver: (Event) -> Bool) -> Bool {
        guard let ids = ids.memory.withLock(\.ids), let signUp = ids.signUp else { return true }
        if !isHeld(signUp.id) {
            guard signUp.loginID.hasBytes(of: ids.loginID) else { return true }
            guard deliver(signUp.event(with: ids.extras)) else { return false }
        }
        stored(signUp)
        return true
    }

    /// Records that a receiver has the event. It stays while another one may get it later.
    private func stored(_ signUp: UserIDs.SignUp) {
        do throws(SluiceError) {
            try ids.change { current in
                guard current.signUp?.id == signUp.id else { return }
                current.signUp?.isStored = true
                if !ids.hasWaitingReceivers { current.signUp = nil }
            }
        } catch {
            context.report("that $SignUp was tracked can't be kept, so the next launch repeats it: \(error)")
        }
    }
}
