import Sluice

/// The ids of the batches that are being sent: version 7 UUIDs with the time of the first attempt.
struct RequestIDs {
    /// More batches than are usually sent by turns. An older one gets a new id, which does no harm.
    private static let limit = 64

    let random: @Sendable () -> UInt64
    var ids: [(batch: Batch.ID, id: EventID)] = []

    mutating func id(of batch: Batch.ID, at time: Timestamp) -> EventID {
        if let known = ids.last(where: { $0.batch == batch }) { return known.id }
        if ids.count == RequestIDs.limit { ids.removeFirst() }
        let id = EventID.timed(time, random)
        ids.append((batch, id))
        return id
    }
}
