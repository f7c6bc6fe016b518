import Sluice

/// The checks of events that are settled one by one, and of batches that are released.
extension StoreCheck {
    private static let size = BatchSize(events: 10, bytes: .max)

    private func take() throws -> Batch {
        guard let batch = try store.nextBatch(StoreCheck.size) else {
            throw SluiceError(.brokenContract, "events were stored, and no batch was returned")
        }
        return batch
    }

    func settlesEvents() throws {
        try open()
        let lines = try Samples.lines(0..<20)
        for line in lines { try store.append(line) }
        let batch = try take()
        store.settle([0, batch.events.count - 1], of: batch.id)
        try requireBacklog(20, "with two settled events and their batch not settled,")
        let others = try takeAll(StoreCheck.size, settling: true).flatMap(\.events)
        try require(
            batch.events + others == lines, "a batch with settled events must stay handed out, and be returned once")
        store.settle([0, 1], of: batch.id)
        try requireBacklog(batch.events.count, "with a settled event that is settled a second time,")
        try store.settle(batch.id)
        try requireBacklog(0, "after all batches were settled,")
        store.close()
    }

    func releasesBatches() throws {
        try open()
        let lines = try Samples.lines(0..<20)
        for line in lines[..<10] { try store.append(line) }
        let batch = try take()
        for line in lines[10...] { try store.append(line) }
        // A store can hand out events one by one. It then has no rest.
        guard batch.events.count > 2 else { return store.close() }
        store.settle([0], of: batch.id)
        store.reject([DeadLetter(line: batch.events[1], reason: "a sample", date: StoreCheck.date)], in: batch.id)
        let rest = Array(batch.events.dropFirst(2))
        try require(store.release(batch.id, rest: rest), "a batch must be released if there is enough room")
        try requireBacklog(18, "after a batch was released without 2 of its events,")
        var events: [EventLine] = []
        for batch in try takeAll(StoreCheck.size, settling: false) {
            events += batch.events
            try store.settle(batch.id)
        }
        try require(
            events == lines.filter { !batch.events.contains($0) } + rest,
            "the rest of a released batch must be returned in its order, after the events that waited")
        try requireBacklog(0, "after all batches were settled,")
        store.close()
    }

    // MARK: Stores that outlive their process

    /// Settles events of a batch, which no later process must return.
    func leavesSettled() throws -> Remains {
        try open()
        var remains = Remains()
        remains.add(try appendSome(0..<60))
        let batch = try take()
        let places = batch.events.indices.filter { $0.isMultiple(of: 2) }
        store.settle(places, of: batch.id)
        let ids = Set(places.map { batch.events[$0].id })
        remains.erase { ids.contains($0.id) }
        store.close()
        return remains
    }

    /// Releases batches. A later process must return the rest of each.
    func leavesReleased() throws -> Remains {
        try open()
        var remains = Remains()
        for line in try Samples.lines(0..<20) { try store.append(line) }
        for batch in try takeAll(StoreCheck.size, settling: false) {
            store.settle([0], of: batch.id)
            let rest = Array(batch.events.dropFirst())
            remains.settled.insert(batch.events[0].id)
            if rest.isEmpty {
                try store.settle(batch.id)
            } else {
                try require(store.release(batch.id, rest: rest), "a batch must be released if there is enough room")
            }
            remains.add(rest)
        }
        store.close()
        return remains
    }
}
