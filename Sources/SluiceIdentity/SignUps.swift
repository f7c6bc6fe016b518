internal import Sluice

/// Tracks the `$SignUp` of an identity until a route has stored it.
///
/// Every attempt has the same id, so a receiver recognizes a repetition. A sign-up is repeated in these cases:
///
/// - The process has crashed after the event was tracked, and before the ids on disk said so.
/// - A stage below has held or dropped the event: it has passed the identity's stage, so the next launch repeats it.
/// - A stage above has dropped the event: it is repeated at the next opportunity.
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
            if !state.isLoaded { state.pending = ids.memory.withLock { $0.ids?.signUp } }
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
            do throws(SluiceError) {
                try ids.change { if $0.signUp == signUp { $0.signUp = nil } }
            } catch {
                context.report("that $SignUp was tracked can't be kept, so the next launch repeats it: \(error)")
            }
        } else {
            let isPending = ids.memory.withLock { $0.ids?.signUp == signUp }
            state.withLock { state in
                if isPending, state.passed != signUp.id, state.pending == nil { state.pending = signUp }
            }
        }
    }
}
