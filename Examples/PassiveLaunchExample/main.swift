// Events of a launch by the system, in the background, are marked; those of a launch by the user are not.
//
//     swift run PassiveLaunchExample

import SluiceLifecycle
import SluiceMemory
import SluicePassiveLaunch

/// Prints each event and the state that the app was in.
struct PrintStates: Transport {
    func send(_ batch: Batch) async throws -> Verdicts {
        for line in batch.events {
            let event = try line.event()
            let isInBackground = event.properties["$app_state"] == "background"
            guard case .int(let session) = event.properties["$session_index"] else { continue }
            print("  \(event.name)\(isInBackground ? " (in the background)" : ""), session \(session)")
        }
        return .all(.accepted)
    }
}

let pipeline = try Pipeline {
    Sessions()
    PassiveLaunchTagger()
    LifecycleEvents()
    MemoryStore()
    PrintStates()
}

print("a push message launches the app:")
pipeline.signal(.launched(.passive))
pipeline.track("OrderShipped")
await pipeline.flush()

print("the user opens it, looks at the notification centre, and comes back:")
pipeline.signal(.didBecomeActive)
pipeline.track("OrderViewed")
pipeline.signal(.willResignActive)
pipeline.signal(.didBecomeActive)  // No second $AppStart: the app was never out of sight.
await pipeline.flush()

print("and leaves:")
pipeline.signal(.willResignActive)
pipeline.signal(.didEnterBackground)
await pipeline.shutdown()
