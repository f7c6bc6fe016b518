// Durations: timers are started, paused, resumed and ended by the host, and paused automatically in the background.
//
//     swift run DurationTimerExample

import SluiceDuration
import SluiceMemory
import SluiceTesting

/// Prints each event with its duration.
struct PrintDurations: Transport {
    func send(_ batch: Batch) async throws -> Verdicts {
        for line in batch.events {
            let event = try line.event()
            let duration = event.properties["$event_duration"].map { "\($0)" } ?? "no duration"
            print("  \(event.name): \(duration)")
        }
        return .all(.accepted)
    }
}

let time = VirtualTime()  // So that this example takes no time. Leave out the environment to use the system's clocks.
let timers = DurationTimer()
let screens = Screens()
let pipeline = try Pipeline(environment: PipelineEnvironment(time: time)) {
    timers
    screens
    MemoryStore()
    PrintDurations()
}

print("a video of 90 s, of which 30 s were paused:")
timers.start("WatchVideo")
time.advance(by: .seconds(30))
timers.pause("WatchVideo")
time.advance(by: .seconds(30))
timers.resume("WatchVideo")
time.advance(by: .milliseconds(30_125))
timers.end("WatchVideo", ["title": "How to tie a shoe"])
await pipeline.flush()

print("a checkout of 10 s, with an hour in the background meanwhile:")
timers.start("Checkout")
time.advance(by: .seconds(4))
pipeline.signal(.didEnterBackground)
time.advance(by: .seconds(3_600))
pipeline.signal(.didBecomeActive)
time.advance(by: .seconds(6))
timers.end("Checkout")
await pipeline.flush()

print("two downloads at the same time, by their tokens:")
let first = timers.start("Download")
time.advance(by: .seconds(1))
let second = timers.start("Download")
time.advance(by: .seconds(1))
timers.end(first)
timers.end(second)
await pipeline.flush()

print("a screen that is left by the background, and looked at again afterwards:")
screens.enter("Product")
time.advance(by: .seconds(5))
pipeline.signal(.didEnterBackground)
time.advance(by: .seconds(3_600))
pipeline.signal(.didBecomeActive)
time.advance(by: .seconds(7))
screens.leave("Product")
await pipeline.flush()

print("an end without a start:")
timers.end("NeverStarted")
await pipeline.shutdown()
