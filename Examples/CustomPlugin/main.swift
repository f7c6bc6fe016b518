// Two processors, a store and a transport outside of Sluice, each checked with its contract.
//
//     swift run CustomPlugin

import Sluice
import SluiceTesting

print("Currency:   ", terminator: "")
try await ProcessorContract.check { Currency(code: "EUR") }
print("keeps the contract of a processor")

print("BurstGate:  ", terminator: "")
try await ProcessorContract.check { BurstGate() }
print("keeps the contract of a processor")

print("ArrayStore: ", terminator: "")
try await StoreContract.check { ArrayStore() }
print("keeps the contract of a store")

print("Tally:      ", terminator: "")
try await TransportContract.check { Tally() }
print("keeps the contract of a transport")

let tally = Tally()
let gate = BurstGate()
let pipeline = try Pipeline {
    gate
    Currency(code: "EUR")
    ArrayStore()
    tally
}
pipeline.track("Purchase", ["price": 12.5])
gate.close()
pipeline.track("Search", ["query": "blue shoes"])
pipeline.track("Purchase", ["price": 3])
precondition(pipeline.ledger.held == 2)
gate.open()
precondition(pipeline.ledger.held == 0 && pipeline.ledger.tracked == 4)
await pipeline.shutdown()
let counts = await tally.counts
print("Tally of names: \(counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" })")
precondition(counts == ["GateOpened": 1, "Purchase": 2, "Search": 1])
