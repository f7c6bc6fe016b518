import Sluice

/// What a host has asked to be forgotten.
struct Deletion: Identifiable {
    let id: Int
    let life: Int
    /// What the life had stored by then.
    let serials: Set<Int>
    /// What all lives had stored when the deletion began.
    let all: Set<Int>
    /// Nil: everything.
    let selects: (@Sendable (Int) -> Bool)?
}

extension Books {
    /// Call this when a store starts to delete files without reading them, and when it is done.
    func deletesUnread(_ isBegun: Bool, in life: Int) {
        state.withLock { state in
            if isBegun { state.livesThatDelete.insert(life) } else { state.livesThatDelete.remove(life) }
        }
    }

    func deletesUnread(in life: Int) -> Bool { state.withLock { $0.livesThatDelete.contains(life) } }

    /// From now on, a deletion may be refused.
    func shutsDown(_ life: Int) { _ = state.withLock { $0.shutDownLives.insert(life) } }

    func isShutDown(_ life: Int) -> Bool { state.withLock { $0.shutDownLives.contains(life) } }

    func beginsDeletion(in life: Int, of selects: (@Sendable (Int) -> Bool)? = nil) -> Deletion {
        state.withLock { state in
            let waiting = state.records.filter { !$0.value.isDone && selects?($0.key) ?? true }
            let serials = waiting.filter { $0.value.life == life }.map(\.key)
            state.lastDeletion += 1
            let deletion = Deletion(
                id: state.lastDeletion, life: life, serials: Set(serials), all: Set(waiting.keys), selects: selects)
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
        if let selects = deletion.selects { state.withLock { $0.erasures.append(selects) } }
        // What came in meanwhile, or was left by another life, may be deleted too.
        excuse { serial, record in
            guard deletion.selects?(serial) ?? true else { return nil }
            return record.life == deletion.life || record.process.isDead ? "deleted" : nil
        }
    }

    /// An erasure says what is left. The folder of a living process is erased later: from now on, this life must not send
    /// any of these events.
    func ended(_ deletion: Deletion, _ report: ErasureReport, isDead: Bool) {
        let isKnown = !isDead && report.left.allSatisfy { $0.hasSuffix("erase there, or when it has ended") }
        if isKnown {
            state.withLock { state in
                for serial in deletion.all where state.records[serial]?.isDone == false {
                    state.records[serial]?.erasedBy.insert(deletion.life)
                    // Nothing is left in the folder of an ended process. If someone has deleted that folder, a process that
                    // had adopted it can still send the events that it has in memory.
                    let record = state.records[serial]
                    if report.isComplete, record?.process.isDead == true, record?.excuse != "deleted" {
                        state.records[serial]?.isDeleted = true
                    }
                }
            }
        }
        ended(deletion, isDone: isKnown)
    }
}
