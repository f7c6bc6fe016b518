import Sluice

/// The checks of a store that can erase single events.
extension StoreCheck {
    /// Erases each third sample. Returns nil if the store can't erase single events.
    private func erase(_ remainder: UInt64 = 0) throws(SluiceError) -> ErasureReport? {
        do throws(SluiceError) {
            return try store.erase { StoreCheck.isErased($0, remainder) }
        } catch {
            if error.code == .unsupported { return nil }
            throw error
        }
    }

    private static func isErased(_ line: EventLine, _ remainder: UInt64 = 0) -> Bool {
        line.id.map { ($0.low & 0xFFFF) % 3 == remainder } ?? false
    }

    func erasesEvents() throws {
        let lines = try append(0..<60, criticalAt: 7)
        let size = BatchSize(events: 5, bytes: .max)
        let batch = try take(size, of: "60 events")
        // The samples 0 and 7. Only the first is erased.
        store.reject(
            batch.events.prefix(2).map { DeadLetter(line: $0, reason: "a sample", date: StoreCheck.date) },
            in: batch.id)
        let letters = store.backlog.deadLetters
        guard let report = try erase() else { return }
        let others = lines.filter { !batch.events.contains($0) }
        let expected = others.count(where: { StoreCheck.isErased($0) })
        try require(
            report.events == expected && report.left.isEmpty,
            "\(expected) events in the store had to be erased, without the ones of the batch in flight: \(report)")
        try require(
            report.deadLetters == letters / 2 && store.backlog.deadLetters == letters - letters / 2,
            "one of \(letters) dead letters had to be erased: \(report)")
        try requireBacklog(60 - expected, "after \(expected) events were erased and with a batch in flight,")
        let second = try erase()
        try require(second?.events == 0 && second?.deadLetters == 0, "events were erased twice")
        let kept = others.filter { !StoreCheck.isErased($0) }
        let events = try takeAll(size, settling: true).flatMap(\.events)
        let order = kept.filter { $0.priority == .critical } + kept.filter { $0.priority == .normal }
        try require(events == order, "the other events must be returned, in their order, and no erased ones")
        try store.settle(batch.id)
        try requireBacklog(0, "after all batches were settled,")
    }

    /// Erases events that wait and events of a batch that no later process must return.
    func leavesErased() throws -> Remains {
        var remains = Remains()
        let lines = try append(0..<60, criticalAt: 3)
        _ = try store.nextBatch(BatchSize(events: 15, bytes: .max))
        remains.add(lines)
        if try erase() != nil { remains.settle(remains.waiting.filter { StoreCheck.isErased($0) }) }
        return remains
    }

    /// Erases events that an earlier process has left.
    func erases(from earlier: Remains) throws -> Remains {
        var remains = earlier
        if try erase(1) != nil { remains.settle(remains.waiting.filter { StoreCheck.isErased($0, 1) }) }
        return remains
    }
}
