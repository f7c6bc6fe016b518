// User ids: an anonymous id that stays across launches, and the id of a user who logs in.
//
//     swift run IdentityExample

import Foundation
import SluiceIdentity
import SluiceMemory

/// Prints each event with its user.
struct PrintWho: Transport {
    func send(_ batch: Batch) async throws -> Verdicts {
        for line in batch.events {
            let event = try line.event()
            let anonymous = (event.anonymousID ?? "nobody").prefix(13)
            print("  \(event.name) by \(event.loginID ?? "an unknown user") (anonymous id \(anonymous)…)")
        }
        return .all(.accepted)
    }
}

let folder = FileManager.default.temporaryDirectory.appending(path: "sluice-identity-\(UUID().uuidString)").path
var anonymousIDs: [String?] = []

for launch in 1...2 {
    print("launch \(launch)")
    let identity = Identity(persistedIn: .file(folder))
    let pipeline = try Pipeline {
        identity
        MemoryStore()
        PrintWho()
    }
    pipeline.track("Search")  // In the second launch the user is still logged in.
    try identity.login("customer-42")  // The first one tracks $SignUp, which joins what came before and after.
    try identity.join(group: "acme", ofType: "company")
    identity.profile.set(["plan": "pro"])
    pipeline.track("Purchase")
    if launch == 2 {
        try identity.logout()
        pipeline.track("Search")
    }
    do {
        try identity.login("")
    } catch {
        print("  refused: \(error)")
    }
    anonymousIDs.append(identity.anonymousID)
    await pipeline.shutdown()
}
precondition(anonymousIDs[0] != nil && anonymousIDs[0] == anonymousIDs[1])
try FileManager.default.removeItem(atPath: folder)
