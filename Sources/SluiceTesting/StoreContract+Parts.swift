import Sluice

/// The checks of events that are settled one by one.
extension StoreCheck {
    private static let size = BatchSize(events: 10, bytes: .max)

    func settlesEvents() throws {
        let lines = try append(0..<20)
        let batch = try take(StoreCheck.size)
        store.settle([0, batch.events.count - 1], of: batch.id)
        try requireBacklog(20, "with two settled events and their batch not settled,")
        let others = try takeAll(StoreCheck.size, settling: true).flatMap(\.events)
        try require(
            batch.events + others == lines, "a batch with settled events must stay handed out, and be returned once")
        store.settle([0, 1], of: batch.id)
        try requireBacklog(batch.events.count, "with a settled event that is settled a second time,")
        try store.settle(batch.id)
        try requireBacklog(0, "after all batches were settled,")
    }
}
