/// Lists, replays and discards the dead letters of a route.
package struct DeadLetterAccess {
    private let route: RouteRuntime

    package init(_ route: RouteRuntime) {
        self.route = route
    }

    /// Discards all dead letters, and reports a failure.
    ///
    /// - Returns: whether all of them are gone.
    package func discardAll() async -> Bool {
        do throws(SluiceError) {
            _ = try await discard { _ in true }
            return true
        } catch {
            route.report("the dead letters can't be removed: \(error)")
            return false
        }
    }

    package func all() async throws(SluiceError) -> [DeadLetter] {
        try await route.useStore { store throws(SluiceError) in try store.deadLetters() }
    }

    package func replay(where isMatch: @escaping @Sendable (DeadLetter) -> Bool) async throws(SluiceError) -> Int {
        try await route.useStore { [route] store throws(SluiceError) in
            let letters = try store.deadLetters().filter(isMatch)
            return try DeadLetterAccess(route).replay(letters)
        }
    }

    package func discard(where isMatch: @escaping @Sendable (DeadLetter) -> Bool) async throws(SluiceError) -> Int {
        try await route.useStore { [route] store throws(SluiceError) in
            let access = DeadLetterAccess(route)
            let ids = Set(try store.deadLetters().filter(isMatch).map(\.id))
            do throws(SluiceError) {
                let count = try store.discardDeadLetters(ids)
                access.countDiscarded(count)
                return count
            } catch {
                // The first ones may be gone.
                let left = Result { () throws(SluiceError) in try store.deadLetters().map(\.id) }
                if case .success(let left) = left { access.countDiscarded(ids.subtracting(left).count) }
                throw error
            }
        }
    }

    private func countDiscarded(_ count: Int) {
        if count > 0 { route.update { $0.journal.ledger.droppedDeadLetters.add(count, .deleted) } }
        noteCount()
    }

    /// Notes the number of dead letters in the store. It can wait for a disk, and meets other workers that do the same: a
    /// number that was read before another change is read once more.
    func noteCount() {
        var isNoted = false
        while !isNoted {
            let change = route.update { $0.journal.letterChanges }
            let count = route.store.backlog.deadLetters
            isNoted = route.update { $0.journal.noteDeadLetters(count, after: change) }
        }
    }

    /// Puts dead letters back. The caller is at the gate.
    private func replay(_ letters: [DeadLetter]) throws(SluiceError) -> Int {
        let replayed = try route.store.replayDeadLetters(Set(letters.map(\.id)))
        guard replayed > 0 else { return 0 }
        let critical = letters.count { $0.line.priority == .critical }
        route.update { $0.replayed(replayed, critical: min(critical, replayed)) }
        noteCount()
        return replayed
    }
}
