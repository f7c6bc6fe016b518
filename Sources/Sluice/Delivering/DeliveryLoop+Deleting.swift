extension DeliveryLoop {
    /// Forgets all that waits, and returns when that is done; what is being sent at that time is waited for.
    ///
    /// - Returns: false if not all could be deleted: the loop had ended, or ended meanwhile, or the store failed.
    func deleteAll() async -> Bool {
        await withCheckedContinuation { continuation in
            var isStopped = false
            update { state in
                isStopped = state.isStopped
                if !isStopped { state.deletions.append(continuation) }
                return true
            }
            if isStopped { continuation.resume(returning: false) }
        }
    }

    /// - Returns: whether anything was done: the loop is to look again then.
    func deleteIfRequested() async -> Bool {
        enum Step {
            case none, wait
            /// Those who ask later wait for a pass of their own: it is their events that this one may miss.
            case delete([BatchProgress], for: [CheckedContinuation<Bool, Never>])
        }
        let step = state.withLock { state -> Step in
            if state.deletions.isEmpty || state.isStopped { return .none }
            if state.underway.flights > 0 { return .wait }
            state.isAtStore = true
            defer { state.deletions = [] }
            return .delete(state.underway.takeAll(), for: state.deletions)
        }
        switch step {
        case .none: return false
        case .wait: await wait(until: nil)
        case .delete(let underway, let waiting):
            let isUnderwayGone = underway.map(delete).allSatisfy(\.self)
            let isDone = deleteStored() && isUnderwayGone
            leaveStore()
            endFlushes { $0.flushes.takeAll() }
            for continuation in waiting { continuation.resume(returning: isDone) }
        }
        return true
    }

    /// - Returns: whether all that waited at the beginning is gone.
    private func deleteStored() -> Bool {
        var bytes = store.backlog.bytes
        // Of events that are not in the backlog, such as a dead neighbour's, and of those that come in meanwhile: whoever
        // tracks faster than this deletes could else keep it busy for ever.
        var more = 1_000
        var isAllGone = true
        do {
            while bytes > 0 || more > 0, let batch = try store.nextBatch(batchSize) {
                if bytes <= 0 { more -= 1 }
                bytes -= batch.events.reduce(0) { $0 + $1.bytes.count }
                isAllGone = delete(BatchProgress(batch)) && isAllGone
            }
            // A store may hold what it cannot read at present.
            return isAllGone && (bytes <= 0 || store.backlog.isEmpty)
        } catch {
            account.storeFailed("what waits could not all be read to be deleted", error)
            return false
        }
    }

    /// - Returns: whether a later life cannot come upon it.
    private func delete(_ batch: BatchProgress) -> Bool {
        account.dropped(batch.waiting, .deleted)
        return settle(batch)
    }
}
