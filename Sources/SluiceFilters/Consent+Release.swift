import Sluice

/// What follows an answer: held events continue, and the receiver learns who the user is.
extension Consent {
    /// A stage that drops the join for one of these reasons may keep it another time.
    private static let passingReasons: Set<DropReason> = [.duplicate, .rateLimited, .collectionDisabled]

    /// Lets held events continue, and stores the states.
    func letContinue() {
        guard let released = release() else { return }
        states.keep()
        join(except: released)
    }

    /// Forwards the held events in their order. Later events pass when the last one has continued.
    ///
    /// - Returns: The ids of the stored sign-ups among them. Nil if another call does this, or the next pipeline will.
    private func release() -> Set<EventID>? {
        let isConnected = context.isConnected
        let isFirst = waiting.withLock { held in
            guard isConnected || held.events.isEmpty else { return false }
            defer { held.releaser = held.releaser ?? currentThread }
            return held.releaser == nil
        }
        guard isFirst else { return nil }
        var signUps: Set<EventID> = []
        while let event = nextHeld() {
            if context.forward(event), event.event.name == "$SignUp" { signUps.insert(event.event.id) }
        }
        if let install = waiting.withLock({ $0.missed.removeValue(forKey: "$AppInstall") }) { insert(install) }
        return signUps
    }

    /// Takes one event at a time, because a denial must end the release. After the last one, later events pass.
    private func nextHeld() -> PluginEvent? {
        waiting.withLock { held in
            if answer.value.isReleasing {
                if let event = held.events.popFirst()?.event { return event }
                answer.note { $0.isReleasing = false }
                (held.events, held.bytes) = ([], 0)
            }
            held.releaser = nil
            return nil
        }
    }

    @discardableResult
    private func insert(_ missed: Event) -> Bool { context.insert(missed.name, before: missed) { $0 = missed } }

    /// Stores the event that joins the user's ids, which an earlier answer has kept from the receiver.
    func join(except released: Set<EventID> = []) {
        guard answer.value.kind == .granted, answer.value.owesJoin, states.isInPipeline else { return }
        // In memory: after a crash, the next launch does this.
        answer.note { $0.owesJoin = false }
        let missed = waiting.withLock { $0.missed.removeValue(forKey: "$SignUp") }
        var isRefused = false
        func repeats(_ states: [any KeptState], _ deliver: (Event) -> Bool) -> Bool {
            states.allSatisfy { ($0 as? any EventRepeating)?.repeats(except: released.contains, deliver) ?? true }
        }
        let (own, above) = states.reachable
        // The identities of routes track by themselves what was not held.
        for case let route as StateGate in own { _ = repeats(route.reachable.own) { _ in false } }
        // In the own chain, the processors above add their properties of this moment.
        let isDone =
            repeats(own) { event in context.track(event.name) { $0 = event } }
            && repeats(above) { event in
                if let missed, missed.id == event.id { return insert(missed) }
                let disposition = context.join(event)
                isRefused = disposition?.dropReason.map { !Consent.passingReasons.contains($0) } ?? false
                return disposition == .keep
            }
        answer.update { if $0.kind == .granted { $0.owesJoin = !isDone && !isRefused } }
    }

    func isJoin(_ event: borrowing Event) -> Bool {
        event.name == "$SignUp" && event.properties["$switches_user"] == nil
    }
}
