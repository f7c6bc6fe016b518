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

let folder = FileManager.default.temporaryDirectory.appending(path: "sluice-quickstart-\(UUID().uuidString)").path

/// A transport of your own, whose receiver is a table. Your program has `HTTPTransport` here.
actor Table: Transport {
    private(set) var line = ""

    func send(_ batch: Batch) throws -> Verdicts {
        for line in batch.events {
            self.line = String(decoding: line.bytes, as: UTF8.self)
            let event = try line.event()
            let time = Date(timeIntervalSince1970: Double(event.time.milliseconds) / 1_000)
            let user = event.loginID ?? event.anonymousID.map { "\($0.prefix(8))…" } ?? ""
            let own = event.properties.filter { !$0.name.hasPrefix("$") }
            let properties = own.map { "\($0.name): \($0.value.string ?? "\($0.value)")" }
            print(
                time.formatted(.iso8601.time(includingFractionalSeconds: false)), column(event.name, 18),
                column(user, 11), (properties + ["+\(event.properties.count - own.count)"]).joined(separator: ", "))
        }
        return .all(.accepted)
    }
}

func column(_ text: String, _ width: Int) -> String {
    text.padding(toLength: max(width, text.count), withPad: " ", startingAt: 0)
}

func wrapped(_ text: String) -> String {
    stride(from: 0, to: text.count, by: 76).map { "  " + text.dropFirst($0).prefix(76) }.joined(separator: "\n")
}

func title(_ text: String) { print("\n# \(text)\n") }

/// The shop's app: its plugins and their pipeline.
struct Shop {
    let identity = Identity(persistedIn: .file(folder + "/state"))
    let timers = DurationTimer()
    let table = Table()
    let pipeline: Pipeline

    init() throws {
        let (identity, timers, table) = (identity, timers, table)
        pipeline = try Pipeline {
            AutoProperties()
            identity
            timers
            LifecycleEvents()
            PassiveLaunchTagger()
            Redaction()
            JSONLStore(at: folder + "/events")
            table
        }
    }
}

title("The user opens the app, logs in, watches a video and buys something")
print("time    ", column("event", 18), column("user", 11), "properties, and how many automatic ones")
let shop = try Shop()
shop.pipeline.signal(.launched(.foreground))
shop.pipeline.signal(.didBecomeActive)
try shop.identity.login("customer-42")
shop.pipeline.track("Login", ["via": "form", "password": "hunter2"])
shop.timers.start("WatchVideo")
try await Task.sleep(for: .milliseconds(120))
shop.timers.end("WatchVideo", ["title": "How to tie a shoe"])
shop.pipeline.track("Purchase", ["amount": 12.5, "sku": "A-7"], priority: .critical)
await shop.pipeline.flush()
print(
    """

    The critical purchase came first. Redaction kept the password out.
    The last of these events, as the line of JSON that is stored and sent:
    \(wrapped(await shop.table.line))
    """)

title("In the background, without network, the app is ended")
shop.pipeline.pauseDelivery()
shop.pipeline.signal(.willResignActive)
shop.pipeline.signal(.didEnterBackground)
let waiting = shop.pipeline.ledger.routes[0].waiting
print("(\(waiting) \(waiting == 1 ? "event waits" : "events wait") on disk)")
let first = await shop.pipeline.shutdown()

title("A push message wakes it: the rest is delivered, what is new is passive")
let wokenShop = try Shop()
wokenShop.pipeline.signal(.launched(.passive))
wokenShop.pipeline.track("OrderShipped", ["parcels": 1])
let second = await wokenShop.pipeline.shutdown()

title("tracked + recovered = delivered + waiting + rejected + dropped")
func row(_ cells: [String]) -> String { cells.map { column($0, 11) }.joined() }
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
print(
    """

    Now see your own events in the browser. Start this, and the README's program:
        swift run --package-path Examples/Inspector sluice collect
    """)
