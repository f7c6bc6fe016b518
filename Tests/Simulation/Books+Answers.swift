import Sluice

extension Books {
    /// Notes the last probe of a process that is about to end: any event of a batch can be offered alone, before the others.
    func mayProbe(_ batch: Batch, from life: Int) {
        state.withLock { state in
            guard let serial = batch.events.first.flatMap({ Books.serial($0.bytes) }),
                let others = state.handedOut[life]?[batch.id]?.serials.prefix(while: { $0 != serial }),
                others.contains(where: { state.records[$0]?.isDone == false })
            else { return }
            state.delayed.insert(serial)
        }
    }

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

    /// The answers to a life, by the number of the attempt.
    struct Answers {
        var attempts = 0
        var firstAcceptance: Int?
        var lastAcceptance: Int?
        /// The last answer to an event that was sent alone, and was not an acceptance.
        var alone: [Int: Alone] = [:]

        struct Alone {
            var attempt: Int
            /// Whether there was such an answer before, and an acceptance since.
            var isSecond: Bool
        }

        mutating func note(_ batch: Batch, _ verdicts: Verdicts) {
            attempts += 1
            if batch.events.indices.contains(where: { verdicts.verdict(at: $0).isAccepted }) {
                firstAcceptance = firstAcceptance ?? attempts
                lastAcceptance = attempts
            } else if batch.events.count == 1, let serial = Books.serial(batch.events[0].bytes) {
                let former = alone[serial]
                let isSecond = former.map { $0.isSecond || $0.attempt < lastAcceptance ?? 0 } ?? false
                alone[serial] = Alone(attempt: attempts, isSecond: isSecond)
            }
        }
    }

    func answered(_ batch: Batch, _ verdicts: Verdicts, to life: Int) {
        if isVerbose { print("  \(batch.events.compactMap { Books.serial($0.bytes) }): \(verdicts)") }
        state.withLock { state in
            state.answers[life, default: Answers()].note(batch, verdicts)
            for (index, line) in batch.events.enumerated() {
                guard let serial = Books.serial(line.bytes) else { continue }
                switch verdicts.verdict(at: index).kind {
                case .accepted, .duplicate: state.records[serial]?.acceptedIn = life
                // Others of its batch may have to wait for another event to show whose fault it is.
                case .split, .tooLarge, .rejected, .unsendable, .hold, .retry:
                    state.delayed.formUnion(state.handedOut[life]?[batch.id]?.serials ?? [])
                }
            }
        }
    }
}

extension Books.State {
    /// An event whose answer doesn't say that it is about the event is rejected only if it was alone, and if the receiver has
    /// accepted others before and after it, twice.
    mutating func checkConfirmed(_ letter: DeadLetter, _ serial: Int, in life: Int) {
        guard letter.reason.hasPrefix("the receiver accepts others") else { return }
        // The answers to two copies of an event can't be told apart.
        if let record = records[serial], record.isReplayed || record.mayBeTwice { return }
        confirmed += 1
        guard let answers = answers[life], let alone = answers.alone[serial], let first = answers.firstAcceptance,
            let last = answers.lastAcceptance, first < alone.attempt, alone.attempt < last, alone.isSecond
        else { return violations.append("\(serial) is rejected by life \(life) without acceptances around its answer") }
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
