// A processor, a store and a transport written outside of Sluice, and each held to its contract.
//
//     swift run CustomPlugin

import Sluice
import SluiceTesting

print("Currency:   ", terminator: "")
try await ProcessorContract.check { Currency(code: "EUR") }
print("keeps the contract of a processor")

print("ArrayStore: ", terminator: "")
try await StoreContract.check { ArrayStore() }
print("keeps the contract of a store")

print("Tally:      ", terminator: "")
try await TransportContract.check { Tally() }
print("keeps the contract of a transport")

let tally = Tally()
let pipeline = try Pipeline {
    Currency(code: "EUR")
    ArrayStore()
    tally
}
pipeline.track("Purchase", ["price": 12.5])
pipeline.track("Search", ["query": "blue shoes"])
pipeline.track("Purchase", ["price": 3])
await pipeline.shutdown()
let counts = await tally.counts
print("Tally of names: \(counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" })")
precondition(counts == ["Purchase": 2, "Search": 1])
