import Foundation
import Sluice
import SluiceLifecycle
import TestSupport
import Testing

/// Which writes a signal waits for.
@Suite struct WriteThreadTests {
    /// Keeps items in memory, and records the threads that write.
    private final class Place: Sendable {
        private let state = Locked<(items: [String: [UInt8]], threads: [ObjectIdentifier])>(([:], []))

        var threads: [ObjectIdentifier] { state.withLock(\.threads) }

        var persistence: Persistence {
            Persistence(
                named: "a place", read: { [state] item in state.withLock { $0.items[item] } },
                write: { [state] item, bytes in
                    let thread = ObjectIdentifier(Thread.current)
                    state.withLock { state in
                        state.items[item] = bytes
                        state.threads.append(thread)
                    }
                })
        }
    }

    @Test("activation waits for no write, the background for one, and termination for all that remain")
    func signalsWaitForFewWrites() throws {
        let place = Place()
        let test = try TestPipeline {
            Sessions(persistedIn: place.persistence)
            LifecycleEvents(persistedIn: place.persistence)
        }
        func callersWrites(during signal: Signal) -> Int {
            let caller = ObjectIdentifier(Thread.current)
            let before = place.threads.count { $0 == caller }
            test.pipeline.signal(signal)
            return place.threads.count { $0 == caller } - before
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
