/// Lists, replays and discards the dead letters.
extension RouteRuntime {
    /// Discards all dead letters, and reports a failure.
    ///
    /// - Returns: why some of them are left.
    func discardAllLetters() -> [String] {
        guard let error = SluiceError.of(try _ = discard { _ in true }) else { return [] }
        report("the dead letters can't be removed: \(error)")
        return ["\(error)"]
    }

    package func deadLetters() async throws(SluiceError) -> [DeadLetter] {
        try await useStore { store throws(SluiceError) in try store.deadLetters() }
    }

    package func replayDeadLetters(
        where isMatch: @escaping @Sendable (DeadLetter) -> Bool
    ) async throws(SluiceError) -> Int {
        try await useStore { store throws(SluiceError) in
            let letters = try store.deadLetters().filter(isMatch)
            let replayed = try store.replayDeadLetters(Set(letters.map(\.id)))
            guard replayed > 0 else { return 0 }
            let critical = letters.count { $0.line.priority == .critical }
            self.update { $0.replayed(replayed, critical: min(critical, replayed)) }
            self.noteDeadLetters()
            return replayed
        }
    }

    package func discardDeadLetters(
        where isMatch: @escaping @Sendable (DeadLetter) -> Bool
    ) async throws(SluiceError) -> Int {
        try await useStore { _ throws(SluiceError) in try self.discard(where: isMatch) }
    }

    private func discard(where isMatch: (DeadLetter) -> Bool) throws(SluiceError) -> Int {
        let ids = Set(try store.deadLetters().filter(isMatch).map(\.id))
        do throws(SluiceError) {
            let count = try store.discardDeadLetters(ids)
            countDiscarded(count)
            return count
        } catch {
            // The first ones may be gone.
            let left = attempt(try store.deadLetters().map(\.id), or: nil)
            if let left { countDiscarded(ids.subtracting(left).count) }
            throw error
        }
    }

    private func countDiscarded(_ count: Int) {
        if count > 0 { update { $0.journal.ledger.droppedDeadLetters.add(count, .deleted) } }
        noteDeadLetters()
    }

    /// Notes the number of dead letters in the store. It can wait for a disk, and meets other workers that do the same: a
    /// number that was read before another change is read once more.
    func noteDeadLetters() {
        var isNoted = false
        while !isNoted {
            let change = update { $0.journal.letterChanges }
            let count = store.backlog.deadLetters
            isNoted = update { $0.journal.noteDeadLetters(count, after: change) }
        }
    }
}
