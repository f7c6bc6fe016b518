import Sluice
import SluiceJSONL

/// Events that nobody has received, and why that may be.
extension Books {
    /// A file of dead letters is removed by a life without faults. Events whose batches are open must not come back.
    func buries(_ serials: [Int], in life: Int) {
        state.withLock { state in
            let open = Set(state.handedOut[life, default: [:]].values.flatMap(\.rejected))
            for serial in serials where open.contains(serial) && state.records[serial]?.rejectedIn == life {
                state.records[serial]?.isBuried = true
            }
        }
    }

    /// Notes that events are gone which nobody has received.
    func evicted(_ serials: [Int]) {
        if isVerbose { print("  evicted: \(serials)") }
        state.withLock { state in
            state.evicted += serials.count
            for serial in serials { state.records[serial]?.excuse = "evicted" }
        }
    }

    func expired(_ serials: [Int]) {
        state.withLock { state in
            state.expired += serials.count
            for serial in serials { state.records[serial]?.excuse = "expired" }
        }
    }

    /// Excuses all for which `reason` gives one, as far as they wait.
    func excuse(_ reason: (Int, Record) -> String?) {
        state.withLock { state in
            for (serial, record) in state.records where record.excuse == nil && !record.isDone {
                state.records[serial]?.excuse = reason(serial, record)
            }
        }
    }

    /// A bit of a line of these events has flipped.
    func damaged(_ serials: Set<Int>) {
        excuse { serial, _ in serials.contains(serial) ? "bit flip" : nil }
        state.withLock { state in
            for serial in serials { state.records[serial]?.isDamaged = true }
        }
    }

    /// After a loss of power, a file that was removed may be there again.
    ///
    /// - Parameter present: the events in all files.
    func powerLost(at now: Duration, present: Set<Int>) {
        state.withLock { state in
            state.lastPowerLoss = now
            for (serial, record) in state.records {
                if present.contains(serial) { state.records[serial]?.isSettled = false }
                state.records[serial]?.isBuried = false
                state.records[serial]?.isDeleted = false
                state.records[serial]?.erasedBy = []
                state.records[serial]?.rejectedIn = nil
                record.process.powerLost()
            }
            // What was taken back in vain may be there again as well.
            state.refused = [:]
            state.handedOut = [:]
        }
    }

    /// To be called at the very end, when nothing stands in the way of anything any more.
    func close() {
        state.withLock { state in
            for (serial, record) in state.records.sorted(by: { $0.key < $1.key }) {
                if record.isRejected, !record.isOffered {
                    state.violations.append(
                        "\(serial) of life \(record.life) became a dead letter without being offered")
                }
                if !record.isDone, record.excuse == nil, !state.erasures.contains(where: { $0(serial) }) {
                    state.violations.append("\(serial) of life \(record.life) (\(record.durability)) is lost")
                }
            }
            // The processes that they know know the books as well.
            state.refused = [:]
            state.acknowledged = state.records.count
            state.records = [:]
            state.answers = [:]
        }
    }
}
