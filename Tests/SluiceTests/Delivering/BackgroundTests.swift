import Sluice
import SluiceTesting
import Testing

@Suite struct BackgroundTests {
    @Test(
        "entering the background makes stored events durable before it sends, also while paused",
        arguments: [true, false])
    func backgroundMakesEventsDurable(isPaused: Bool) async throws {
        let store = FaultyStore(WatchedStore())
        let bench = try Bench(store: store)
        if isPaused { bench.pipeline.pauseDelivery() }
        bench.track(1)
        bench.pipeline.signal(.didEnterBackground)
        #expect(store.count(of: .synchronize) == 1)
        if !isPaused { await bench.transport.waitForSends(1) }
    }
}
