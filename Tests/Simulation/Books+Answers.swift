import Sluice

extension Books {
    /// Notes the events that the receiver has deferred or refused, even if the sender is killed before it gets the response. A
    /// refused event may be accepted when it is sent again.
    func deferredOrRefused(_ batch: Batch, _ verdicts: Verdicts) {
        state.withLock { state in
            for (index, line) in batch.events.enumerated() {
                guard let serial = Books.serial(line.bytes) else { continue }
                switch verdicts.verdict(at: index).kind {
                case .retry, .hold, .rejected, .unsendable: state.delayed.insert(serial)
                case .accepted, .duplicate, .split, .tooLarge: break
                }
            }
        }
    }

    func answered(_ batch: Batch, _ verdicts: Verdicts, to life: Int) {
        if isVerbose { print("  \(batch.events.compactMap { Books.serial($0.bytes) }): \(verdicts)") }
        state.withLock { state in
            for (index, line) in batch.events.enumerated() {
                guard let serial = Books.serial(line.bytes) else { continue }
                switch verdicts.verdict(at: index).kind {
                case .accepted, .duplicate: state.records[serial]?.acceptedIn = life
                case .retry, .hold: break
                // Others of its batch may have to wait for the next batch to show whose fault it is.
                case .split, .tooLarge, .rejected, .unsendable:
                    state.delayed.formUnion(state.handedOut[life]?[batch.id] ?? [])
                }
            }
        }
    }
}

extension Verdicts {
    fileprivate func verdict(at index: Int) -> Verdict {
        switch kind {
        case .all(let all): all
        case .each(let each): each[index]
        }
    }
}
