// The life of an app, without the app: a launch by a push message, a visit, and a launch whose folder can't be used.
//
//     swift run AppExample

import Foundation
import SluiceHTTP
import SluiceIdentity
import SluiceLifecycle

/// Prints the name of each event that is sent, and the mark of passive launches.
struct PrintNames: Transport {
    func send(_ batch: Batch) async throws -> Verdicts {
        for line in batch.events {
            let event = try line.event()
            print("  \(event.name)\(event.properties["$app_state"] == nil ? "" : " (in the background)")")
        }
        return .all(.accepted)
    }
}

let folder = FileManager.default.temporaryDirectory.appending(path: "sluice-app-\(UUID().uuidString)").path
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)

print("a push message launches the app, and then the user opens it:")
let analytics = try Analytics.start(in: folder, launch: .passive, sendingBy: PrintNames())
analytics.pipeline.track("PushReceived")  // Before the first signal: the launch is known already.
// AppSignals(to: analytics.pipeline) makes these signals in an app.
analytics.pipeline.signal(.launched(.passive))
analytics.pipeline.signal(.didBecomeActive)
try analytics.identity.login("customer-42")
analytics.pipeline.track("Purchase", ["amount": 12.5])
analytics.pipeline.signal(.didEnterBackground)  // Sends the waiting events.
await analytics.pipeline.flush()
let ledger = await analytics.pipeline.shutdown()
precondition(ledger.isBalanced && ledger.routes[0].waiting == 0)

print("the folder is a file, so this launch keeps its events in memory:")
let file = folder + "/occupied"
try Data().write(to: URL(filePath: file))
let second = try Analytics.start(in: file, launch: .foreground, sendingBy: PrintNames())
second.pipeline.track("Search")
await second.pipeline.shutdown()
precondition(second.pipeline.ledger.isBalanced && second.pipeline.ledger.routes[0].waiting == 0)
try FileManager.default.removeItem(atPath: folder)
