// Consent: no event leaves before the user agrees, and the answer lasts across launches. At the end, a user is erased.
//
//     swift run ConsentExample

import Foundation
import SluiceFilters
import SluiceIdentity
import SluiceMemory

/// Prints the name of each event that is sent.
struct PrintNames: Transport {
    func send(_ batch: Batch) async throws -> Verdicts {
        for line in batch.events { print("  sent: \(try line.event().name)") }
        return .all(.accepted)
    }
}

let folder = FileManager.default.temporaryDirectory.appending(path: "sluice-consent-\(UUID().uuidString)").path

/// Builds the pipeline of a launch. Where no law asks for consent, there is none.
func launch(_ consent: Consent?, _ identity: Identity? = nil) throws -> Pipeline {
    try Pipeline {
        consent
        identity
        MemoryStore()
        PrintNames()
    }
}

print("first launch: events wait in memory until the user answers")
let first = Consent(persistedIn: .file(folder), whilePending: .hold)
let undecided = try launch(first)
undecided.track("AppOpened")
await undecided.flush()
print("  held: \(undecided.ledger.held)")
try first.grant()
undecided.track("Purchase")
await undecided.shutdown()

print("second launch: the answer is known, until the user takes it back")
let second = Consent(persistedIn: .file(folder), whilePending: .hold)
let granted = try launch(second)
granted.track("Search")
await granted.flush()
try second.deny()
granted.track("Purchase")
var ledger = await granted.shutdown()
print("  dropped: \(ledger.dropped.map { "\($1) (\($0))" }.joined(separator: ", "))")
precondition(ledger.routes[0].delivered == 1 && ledger.dropped == [.consentDenied: 1])

print("third launch: the denial lasts")
let denied = try launch(Consent(persistedIn: .file(folder), whilePending: .hold))
denied.track("Search")
ledger = await denied.shutdown()
precondition(ledger.dropped == [.consentDenied: 1])

print("an app that needs no consent:")
let free = try launch(nil)
free.track("Search")
await free.shutdown()

print("a user asks for erasure:")
let identity = Identity(persistedIn: .file(folder))
let last = try launch(nil, identity)
try identity.login("customer-42")
last.pauseDelivery()
last.track("Search")
let report = await last.eraseEverything()
print("  \(report)")
precondition(report.isComplete && identity.loginID == nil && last.ledger.routes[0].waiting == 0)
await last.shutdown()
try FileManager.default.removeItem(atPath: folder)
