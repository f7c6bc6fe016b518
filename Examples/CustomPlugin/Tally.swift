import Sluice

/// Counts events by name, and refuses for good what it cannot read.
actor Tally: Transport {
    private(set) var counts: [String: Int] = [:]

    func send(_ batch: Batch) async throws -> Verdicts {
        .each(
            batch.events.map { line in
                do {
                    counts[try line.event().name, default: 0] += 1
                    return .accepted
                } catch {
                    return .rejected("unreadable: \(error)")
                }
            })
    }
}
