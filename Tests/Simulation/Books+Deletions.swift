import Sluice

/// What a host has asked to be forgotten.
struct Deletion: Identifiable {
    let id: Int
    let life: Int
    /// What the life had stored by then.
    let serials: Set<Int>
}

extension Books {
    /// From now on, a deletion may be refused.
    func shutsDown(_ life: Int) { _ = state.withLock { $0.shutDownLives.insert(life) } }

    func isShutDown(_ life: Int) -> Bool { state.withLock { $0.shutDownLives.contains(life) } }

    func beginsDeletion(in life: Int) -> Deletion {
        state.withLock { state in
            let serials = state.records.filter { $0.value.life == life && !$0.value.isDone }.map(\.key)
            state.lastDeletion += 1
            let deletion = Deletion(id: state.lastDeletion, life: life, serials: Set(serials))
            state.deletions.append(deletion)
            return deletion
        }
    }

    /// - Parameter isDone: whether the host can trust that nothing of it is sent any more.
    func ended(_ deletion: Deletion, isDone: Bool) {
        let isFirstEnd = state.withLock { state in
            let count = state.deletions.count
            state.deletions.removeAll { $0.id == deletion.id }
            guard state.deletions.count < count else { return false }
            // What was on its way may have arrived.
            for serial in deletion.serials where isDone && state.records[serial]?.isDone == false {
                state.records[serial]?.isDeleted = true
            }
            return true
        }
        guard isFirstEnd else { return }
        // What came in meanwhile, or was left by another life, may be deleted too.
        excuse { _, record in record.life == deletion.life || record.process.isDead ? "deleted" : nil }
    }
}
