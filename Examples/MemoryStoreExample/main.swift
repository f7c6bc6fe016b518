// A memory store is bounded. When it is full, the oldest events of the lowest priority are evicted and counted.
//
//     swift run MemoryStoreExample

import SluiceMemory

/// Prints the names of the events.
struct PrintNames: Transport {
    func send(_ batch: Batch) async throws -> Verdicts {
        for line in batch.events { print("  delivered \(try line.event().name)") }
        return .all(.accepted)
    }
}

let store = MemoryStore(capacity: 1_000)
let pipeline = try Pipeline {
    store
    PrintNames()
}

pipeline.pauseDelivery()  // As if the network were down.
pipeline.track("Crash", priority: .critical)
for number in 1...20 { pipeline.track("Scroll \(number)") }
print("\(store.backlog.events) events wait, in \(store.backlog.bytes) of 1000 bytes")

pipeline.resumeDelivery()
let ledger = await pipeline.shutdown()
let route = ledger.routes[0]
print("tracked \(ledger.tracked) = delivered \(route.delivered) + evicted \(route.dropped[.evicted] ?? 0)")
precondition(ledger.isBalanced && route.delivered + (route.dropped[.evicted] ?? 0) == ledger.tracked)
