import Sluice

extension Books {
    /// Notes the events that the receiver has not accepted, even if the sender is killed before it gets the response. A
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
        /// The failed attempts with each event.
        var failures: [Int: Int] = [:]

        mutating func note(_ batch: Batch, _ verdicts: Verdicts) {
            attempts += 1
            if batch.events.indices.contains(where: { verdicts.verdict(at: $0).isAccepted }) {
                firstAcceptance = firstAcceptance ?? attempts
                lastAcceptance = attempts
            }
            for (index, line) in batch.events.enumerated() where !verdicts.verdict(at: index).isAccepted {
                if let serial = Books.serial(line.bytes) { failures[serial, default: 0] += 1 }
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
    /// An event that the receiver didn't name is rejected only after three failures, and if the receiver has accepted others
    /// before and after them.
    mutating func checkConfirmed(_ letter: DeadLetter, _ serial: Int, in life: Int) {
        guard letter.reason.hasPrefix("the receiver accepts others") else { return }
        // The answers to two copies of an event can't be told apart.
        if let record = records[serial], record.isReplayed || record.mayBeTwice { return }
        confirmed += 1
        guard let answers = answers[life], let first = answers.firstAcceptance, let last = answers.lastAcceptance,
            first < last, answers.failures[serial, default: 0] >= 3
        else { return violations.append("\(serial) is rejected by life \(life) without acceptances around its answer") }
    }
}

extension Books {
    /// The number that each event carries, read without a parser.
    static func serial(_ line: ArraySlice<UInt8>) -> Int? {
        let key = Array(#""n":"#.utf8)
        guard let start = line.indices.first(where: { line[$0...].starts(with: key) }) else { return nil }
        let digits = line[(start + key.count)...].prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return Int(String(decoding: digits, as: UTF8.self))
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
