import Sluice

extension Identity {
    static let signUpName = "$SignUp"

    /// Tracks the `$SignUp` of a first login, if there is one, and notes that it is done once a pipeline has stored it. A
    /// crash between the two makes the event a second time, rather than never.
    ///
    /// What a stage above has dropped is tracked again at the next occasion; what has passed here and was not stored, only
    /// by the next life: it may be held, and be let go later.
    func trackOwedSignUp() {
        let (owed, isLetGo, extras, outlets): (UserIDs.SignUp?, Bool, Properties, [EventOutlet]) = state.withLock {
            state in
            guard let owed = state.ids?.owedSignUp, !state.outlets.isEmpty, !state.isSigningUp else {
                return (nil, false, [:], [])
            }
            let isLetGo = state.passedSignUp == owed && state.isSignUpLetGo
            guard isLetGo || state.passedSignUp != owed else { return (nil, false, [:], []) }
            state.isSigningUp = true
            return (owed, isLetGo, state.extras, state.outlets)
        }
        guard let owed else { return }
        if isLetGo || track(owed, extras, outlets) { note(owed, outlets) }
        let isNext = state.withLock { state in
            state.isSigningUp = false
            return state.ids?.owedSignUp.map { $0 != owed } ?? false
        }
        // Of a login that came meanwhile.
        if isNext { trackOwedSignUp() }
    }

    /// A `$SignUp` passes this stage.
    func signUpPasses(_ event: Event) {
        state.withLock { state in
            guard let owed = state.ids?.owedSignUp, event.loginID == owed.loginID,
                event.properties["$original_id"] == .string(owed.previousID)
            else { return }
            if !state.isSigningUp, state.passedSignUp == owed { state.isSignUpLetGo = true }
            if state.passedSignUp != owed { state.isSignUpLetGo = false }
            state.passedSignUp = owed
        }
    }

    /// Whether at least one pipeline has stored it.
    private func track(_ signUp: UserIDs.SignUp, _ extras: Properties, _ outlets: [EventOutlet]) -> Bool {
        var properties = signUp.properties
        properties["$original_id"] = .string(signUp.previousID)
        properties.addDefaults(extras)
        var isStored = false
        for outlet in outlets {
            let isTaken = outlet.track(Identity.signUpName, properties) { event in
                event.anonymousID = signUp.previousID
                event.loginID = signUp.loginID
            }
            isStored = isStored || isTaken
        }
        return isStored
    }

    private func note(_ signUp: UserIDs.SignUp, _ outlets: [EventOutlet]) {
        do throws(SluiceError) {
            try change { ids in
                if ids.owedSignUp == signUp { ids.owedSignUp = nil }
            }
        } catch {
            for outlet in outlets {
                outlet.report(
                    "that $SignUp was tracked could not be noted, so the next launch will repeat it: \(error)")
            }
        }
    }
}
