import Foundation
import SluiceLifecycle
import TestSupport
import Testing

/// Which writes a signal waits for.
@Suite struct WriteThreadTests {
    @Test("activation waits for no write, the background for one, and termination for all that remain")
    func signalsWaitForFewWrites() throws {
        let place = MemoryPlace()
        let threads = Locked<[ObjectIdentifier]>([])
        place.beforeWriting {
            let thread = ObjectIdentifier(Thread.current)
            threads.withLock { $0.append(thread) }
        }
        let test = try TestPipeline {
            Sessions(persistedIn: place.persistence)
            LifecycleEvents(persistedIn: place.persistence)
        }
        func callersWrites(during signal: Signal) -> Int {
            let caller = ObjectIdentifier(Thread.current)
            let before = threads.withLock { $0.count { $0 == caller } }
            test.pipeline.signal(signal)
            return threads.withLock { $0.count { $0 == caller } } - before
        }
        func synchronousWrites(_ signal: Signal) -> Int {
            // A write in the background could be the one that the signal would have made.
            waitForWrites(of: test.pipeline)
            return callersWrites(during: signal)
        }
        #expect(synchronousWrites(.launched(.foreground)) == 0)
        #expect(synchronousWrites(.didBecomeActive) == 0)
        test.pipeline.track("Event")
        #expect(synchronousWrites(.willResignActive) == 0)
        #expect(synchronousWrites(.didEnterBackground) == 1)
        #expect(synchronousWrites(.didBecomeActive) == 0)
        #expect(synchronousWrites(.willTerminate) == 2)
    }
}
