import Foundation
import Sluice

/// Counts events by name, and refuses for good what it cannot read.
final class Tally: Transport {
    // @unchecked: guarded by the lock beside it.
    private final class State: @unchecked Sendable {
        let lock = NSLock()
        var counts: [String: Int] = [:]
    }

    private let state = State()

    var counts: [String: Int] { state.lock.withLock { state.counts } }

    func send(_ batch: Batch) async throws -> Verdicts {
        .each(
            batch.events.map { line in
                do {
                    let name = try line.event().name
                    state.lock.withLock { state.counts[name, default: 0] += 1 }
                    return .accepted
                } catch {
                    return .rejected("unreadable: \(error)")
                }
            })
    }
}
