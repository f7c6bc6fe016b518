// Screens: which ones the user looks at, for how long, and where the user came from.
//
//     swift run ScreensExample

import SluiceDuration
import SluiceMemory
import SluiceTesting

/// Prints each view of a screen, and how long it lasted.
struct PrintScreens: Transport {
    func send(_ batch: Batch) async throws -> Verdicts {
        for line in batch.events {
            let event = try line.event()
            let name = event.properties["$screen_name"]?.string ?? "?"
            if event.name == "$AppViewScreen" {
                print("  \(name) is viewed", event.properties["$referrer"].map { "after \($0)" } ?? "first")
            } else if let duration = event.properties["$event_duration"] {
                print("  \(name) is left after \(duration) ms")
            }
        }
        return .all(.accepted)
    }
}

let time = VirtualTime()  // The example takes no time. Leave out the environment to use the system's clocks.
let screens = Screens()
let pipeline = try Pipeline(environment: PipelineEnvironment(time: time)) {
    screens
    MemoryStore()
    PrintScreens()
}
pipeline.signal(.didBecomeActive)  // Before that, the user sees nothing. In an app, AppSignals reports it.

print("one screen at a time:")
screens.show("Home")
time.advance(by: .seconds(5))
screens.show("Search", ["query": "blue shoes"])
time.advance(by: .seconds(3))
await pipeline.flush()

print("a screen with a part that is left with it:")
let product = screens.show("Product", ["sku": "A-7"])
time.advance(by: .seconds(2))
screens.enter("Reviews", in: product)
time.advance(by: .seconds(4))
screens.leave(product, ["is_in_cart": true])
await pipeline.flush()

print("a screen that the user returns to after an hour in the background:")
screens.enter("Cart")
time.advance(by: .seconds(6))
pipeline.signal(.didEnterBackground)
time.advance(by: .seconds(3_600))
pipeline.signal(.didBecomeActive)
time.advance(by: .seconds(7))
screens.leave("Cart")
let ledger = await pipeline.shutdown()
precondition(ledger.tracked == 11 && ledger.routes[0].delivered == 11)
