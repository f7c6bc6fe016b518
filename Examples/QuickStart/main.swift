// A tour of Sluice: a short session of a fictitious shop, and the ledger of its events.
//
//     swift run QuickStart

import Foundation
import SluiceAutoProperties
import SluiceDuration
import SluiceFilters
import SluiceIdentity
import SluiceJSONL
import SluiceLifecycle
import SluicePassiveLaunch
import SluiceStdout

let folder = FileManager.default.temporaryDirectory.appending(path: "sluice-quickstart-\(UUID().uuidString)").path

/// The shop's app: its plugins and their pipeline.
struct Shop {
    let identity = Identity(persistedIn: .file(folder + "/state"))
    let timers = DurationTimer()
    let pipeline: Pipeline

    init() throws {
        let (identity, timers) = (identity, timers)
        pipeline = try Pipeline {
            AutoProperties()
            identity
            timers
            LifecycleEvents()
            PassiveLaunchTagger()
            Redaction()
            JSONLStore(at: folder + "/events")
            StdoutTransport()
        }
    }
}

func title(_ text: String) { print("\n# \(text)") }

title("The user opens the app, logs in, watches a video and buys something")
let shop = try Shop()
shop.pipeline.signal(.launched(.foreground))
shop.pipeline.signal(.didBecomeActive)
try shop.identity.login("customer-42")
shop.pipeline.track("Login", ["method": "password", "password": "hunter2"])
shop.timers.start("WatchVideo")
try await Task.sleep(for: .milliseconds(120))
shop.timers.end("WatchVideo", ["title": "How to tie a shoe"])
shop.pipeline.track("Purchase", ["amount": 12.5, "sku": "A-7", "gift": true], priority: .critical)
await shop.pipeline.flush()

title("The app goes into the background; the network is down, and the system ends the app")
shop.pipeline.pauseDelivery()
shop.pipeline.signal(.willResignActive)
shop.pipeline.signal(.didEnterBackground)
let waiting = shop.pipeline.ledger.routes[0].waiting
print("(\(waiting) \(waiting == 1 ? "event waits" : "events wait") on disk)")
let first = await shop.pipeline.shutdown()

title("A push message wakes the app: waiting events are delivered, and new ones are marked as passive")
let wokenShop = try Shop()
wokenShop.pipeline.signal(.launched(.passive))
wokenShop.pipeline.track("OrderShipped", ["parcels": 1])
let second = await wokenShop.pipeline.shutdown()

title("The ledger: tracked + recovered = delivered + waiting + rejected + dropped")
func row(_ cells: [String]) -> String {
    cells.map { $0.padding(toLength: 11, withPad: " ", startingAt: 0) }.joined()
}
print(row(["", "tracked", "recovered", "delivered", "waiting", "rejected", "dropped"]))
for (launch, ledger) in [("launch 1", first), ("launch 2", second)] {
    let route = ledger.routes[0]
    let counts = [
        ledger.tracked, route.recovered, route.delivered, route.waiting, route.rejected,
        ledger.dropped.total + route.dropped.total,
    ]
    print(row([launch] + counts.map(String.init)))
    precondition(ledger.isBalanced)
}
precondition(first.routes[0].waiting == second.routes[0].recovered && second.routes[0].waiting == 0)
try FileManager.default.removeItem(atPath: folder)
