// Filters drop events without consent, over the limits, and outside the sample, and remove secrets before they reach any disk.
//
//     swift run FiltersExample

import SluiceFilters
import SluiceMemory
import SluiceStdout

let consent = Consent(persistedIn: .memory, whilePending: .hold)
let pipeline = try Pipeline {
    EventNames(denied: ["Debug*"])
    Sampling(rate: 0.5)
    Redaction(keys: ["password"], patterns: [.email, .paymentCard])
    Limits(.sensors)
    consent
    MemoryStore()
    StdoutTransport()
}

print("events wait in memory until the user agrees:")
pipeline.track("Early") { $0.distinctID = "user 1" }
print("  \(pipeline.ledger.held) event held")

print("secrets are removed:")
try consent.grant()
pipeline.track("Login", ["password": "hunter2", "note": "mail bob@example.org now"]) { $0.distinctID = "user 1" }
pipeline.track("Paid", ["card": "4111 1111 1111 1111", "sku": "A-7"]) { $0.distinctID = "user 1" }
await pipeline.flush()

print("properties with names that the backend refuses are left out:")
pipeline.track("Paid", ["user id": 7, "time": 0, "sku": "A-7"]) { $0.distinctID = "user 1" }
await pipeline.flush()
print("  \(pipeline.ledger.sanitized[.droppedProperty] ?? 0) event with properties left out")

print("half of the users are kept, each of them always or never:")
pipeline.pauseDelivery()
for user in 1...1_000 {
    for _ in 1...3 { pipeline.track("Tick") { $0.distinctID = "user \(user)" } }
}
let sampledOut = pipeline.ledger.dropped[.sampledOut] ?? 0
print("  \(sampledOut) of 3000 events sampled out")
precondition(sampledOut % 3 == 0 && (1_300...1_700).contains(sampledOut))
