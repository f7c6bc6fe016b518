extension DeliveryLoop {
    /// Forgets all that waits, and returns when that is done; what is being sent at that time is waited for.
    func deleteAll() async {
        await withCheckedContinuation { continuation in
            var isStopped = false
            update { state in
                isStopped = state.isStopped
                if !isStopped { state.deletions.append(continuation) }
                return true
            }
            if isStopped { continuation.resume() }
        }
    }

    /// - Returns: whether anything was done: the loop is to look again then.
    func deleteIfRequested() async -> Bool {
        enum Step {
            case none, wait
            case delete([BatchProgress])
        }
        let step = state.withLock { state -> Step in
            if state.deletions.isEmpty || state.isStopped { return .none }
            if state.underway.flights > 0 { return .wait }
            state.isAtStore = true
            return .delete(state.underway.takeAll())
        }
        switch step {
        case .none: return false
        case .wait: await wait(until: nil)
        case .delete(let underway):
            for batch in underway { delete(batch) }
            deleteStored()
            leaveStore()
            endFlushes { state in
                defer { state.deletions = [] }
                return state.deletions + state.flushes.takeAll()
            }
        }
        return true
    }

    private func deleteStored() {
        // Those who track at the same time could else keep it busy for ever.
        var bytes = store.backlog.bytes
        do {
            while bytes > 0, let batch = try store.nextBatch(batchSize) {
                bytes -= batch.events.reduce(0) { $0 + $1.bytes.count }
                delete(BatchProgress(batch))
            }
        } catch {
            account.storeFailed("what waits could not all be read to be deleted", error)
        }
    }

    private func delete(_ batch: BatchProgress) {
        account.dropped(batch.waiting, .deleted)
        settle(batch)
    }
}
