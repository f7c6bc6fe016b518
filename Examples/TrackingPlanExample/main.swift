// A tracking plan: the types of its events are generated when this target is built, and a stage checks all other events.
//
//     swift run TrackingPlanExample

import SluiceMemory
import SluicePlan
import SluiceTesting

let plan = try TrackingPlan.shop()
let transport = ScriptedTransport()
let pipeline = try Pipeline(onDiagnostic: { print("# \($0)") }) {
    PlanCheck(plan, unknown: .drop, violations: .reject)
    MemoryStore()
    PlanGate(plan, transport)
}

// Purchase and Search are generated from shop.plan.json. The compiler refuses these events:
//
//     Purchase(sku: "A-7")                               missing argument for parameter 'amount' in call
//     Purchase(sku: 7, amount: 12.5)                     cannot convert value of type 'Int' to expected … 'String'
//     Purchase(sku: "A-7", amount: 12.5, plan: .gold)    type 'Purchase.Plan?' has no member 'gold'
pipeline.track(Purchase(sku: "A-7", amount: 12.5, plan: .pro, email: "jo@example.com"))
pipeline.track(Search(query: "shoes", sizes: [.s, .m], range: Search.Range(from: 20, to: 80)))

// These events break rules that no type can express, or have no type. The stage finds them.
pipeline.track(Purchase(sku: "A-7", amount: -1))
pipeline.track("Purchase", ["sku": "A-7", "amount": 3, "colour": "red"])
pipeline.track("Purchased", ["sku": "A-7"])

await pipeline.flush()
for letter in try await pipeline.deadLetters() { print("dead letter: \(letter.reason)") }
let events = try transport.accepted()
for event in events { print("sent: \(event.name) \(event.properties.map(\.name))") }

let ledger = await pipeline.shutdown()
print(ledger)
precondition(events.map(\.name) == ["Purchase", "Search", "Purchase"])
precondition(events[0].properties["email"]?.string?.utf8.count == 64, "an SHA-256 instead of the address")
precondition(events[1].properties["sizes"] == ["S", "M"])
precondition(ledger.dropped == [.plan("*"): 1] && ledger.routes[0].deadLetters == 1)
precondition(ledger.sanitized == [.plan("Purchase.amount"): 1, .plan("Purchase.*"): 1, .personalData: 1])
