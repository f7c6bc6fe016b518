// Sessions: automatic ones of an app, and manual ones of a kiosk.
//
//     swift run SessionsExample

import SluiceLifecycle
import SluiceMemory
import SluiceTesting

/// Prints each event with the number of its session.
struct PrintSessions: Transport {
    func send(_ batch: Batch) async throws -> Verdicts {
        for line in batch.events {
            let event = try line.event()
            let session = event.properties["$session_index"].map { "session \($0)" } ?? "no session"
            let duration = event.properties["$event_duration"].map { ", \($0) ms" } ?? ""
            print("  \(event.name): \(session)\(duration)")
        }
        return .all(.accepted)
    }
}

let time = VirtualTime()  // The example takes no time. Leave out the environment to use the system's clocks.

print("an app: 20 s in the background end a session")
let app = try Pipeline(environment: PipelineEnvironment(time: time)) {
    Sessions()
    MemoryStore()
    PrintSessions()
}
app.signal(.launched(.foreground))
app.signal(.didBecomeActive)
app.track("Search")
time.advance(by: .seconds(60))
app.signal(.didEnterBackground)
time.advance(by: .seconds(10))
app.signal(.didBecomeActive)  // The same session.
app.track("Purchase")
app.signal(.didEnterBackground)
time.advance(by: .seconds(20))
app.signal(.didBecomeActive)  // A new one.
app.track("Search")
await app.shutdown()

print("a kiosk: each visitor begins a session")
let sessions = Sessions(.manual)
let kiosk = try Pipeline(environment: PipelineEnvironment(time: time)) {
    sessions
    MemoryStore()
    PrintSessions()
}
kiosk.track("ScreenSaver")  // Without a visitor, there is no session.
for place in ["Library", "Station"] {
    sessions.start()
    kiosk.track("MapOpened", ["place": place])
    time.advance(by: .seconds(45))
    sessions.end()
}
await kiosk.flush()
precondition(kiosk.ledger.isBalanced)
await kiosk.shutdown()
