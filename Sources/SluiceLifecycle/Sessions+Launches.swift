import Sluice

/// The facts for the next launch.
extension Sessions {
    func startHeartbeat() {
        guard kept.isPersistent else { return }
        let time = context.time
        heartbeat.start(time) { [weak self] in
            guard let self else { return }
            let now = self.now
            self.state.withLock { $0.machine.beat(at: now) }
            self.save()
        }
    }

    /// Saves the session off the caller's thread, after its events: a crash between the two repeats one, rather than
    /// losing it.
    func save() { kept.update(note) }

    /// Copies the machine's facts into the state. Does nothing until the facts of earlier launches are loaded.
    func note(_ facts: inout SessionFacts) {
        if let known = state.withLock(\.machine.facts) { facts = known }
    }

    /// Forgets the session and the earlier ones without an event. The next event begins the first session of a new user.
    public func forget() {
        adopt()
        state.withLock { state in
            state.pending = []
            state.machine.forgetUser()
        }
        save()
    }

    /// Ends the session, and returns when the facts for the next launch are stored.
    public func finish() async {
        heartbeat.stop()
        let now = now
        track(state.withLock { $0.machine.receive(.willTerminate, at: now) })
        save()
        await kept.finish()
    }
}

extension Sessions: KeptState {
    /// Continues the count of earlier launches. The end of a session that has crashed comes before the next event.
    package func keep() {
        adopt()
        kept.saveOrReport(note)
    }

    /// The facts are removed as a state of their own.
    package func remove(forgetting: Bool) -> Int { 0 }
}
