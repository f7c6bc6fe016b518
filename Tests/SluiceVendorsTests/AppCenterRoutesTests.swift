import HTTPTestSupport
import Sluice
import SluiceHTTP
import SluiceMemory
import SluiceTesting
import SluiceVendors
import Testing

@Suite("App Center's two routes")
struct AppCenterRoutesTests {
    /// A pipeline in virtual time, whose random numbers are all one half.
    struct Channels {
        let time = VirtualTime()
        let normal: ScriptedTransport
        let critical: ScriptedTransport
        let pipeline: Pipeline

        init(
            interval: Duration = .seconds(6), normal: ScriptedTransport = ScriptedTransport(),
            critical: ScriptedTransport = ScriptedTransport()
        ) throws {
            (self.normal, self.critical) = (normal, critical)
            pipeline = try Pipeline(environment: PipelineEnvironment(time: time, random: { 1 << 63 })) {
                Route.appCenter(interval: interval) { name in
                    MemoryStore()
                    name == "critical" ? critical : normal
                }
            }
        }

        func track(_ count: Int, _ priority: Event.Priority = .normal) {
            for _ in 0..<count { pipeline.track("Event", priority: priority) }
        }

        func sizes(_ transport: ScriptedTransport) -> [Int] { transport.batches.map(\.events.count) }

        /// Waits until a route sleeps until `seconds`, and advances the time to it.
        func wakes(at seconds: Double) async {
            let time = Duration.seconds(seconds)
            await self.time.waitForSleeper(within: time - .milliseconds(1)...time + .milliseconds(20))
            self.time.advance(by: time - self.time.continuousTime() + .milliseconds(1))
        }
    }

    @Test("with a longer interval, only the interval counts for normal events, and not for critical ones")
    func longIntervalCountsForNormalEvents() async throws {
        let channels = try Channels(interval: .seconds(3_600))
        channels.track(120)
        channels.track(1, .critical)
        await channels.wakes(at: 3)
        await channels.critical.waitForSends(1)
        #expect(channels.normal.batches.isEmpty)
        await channels.wakes(at: 3_600)
        await channels.normal.waitForSends(3)
        #expect(channels.sizes(channels.normal).reduce(0, +) == 120)
        #expect(channels.sizes(channels.critical) == [1])
    }

    @Test("critical events are sent within 3 s and alone, and fifty of them at once")
    func criticalEventsAreAlone() async throws {
        let channels = try Channels()
        channels.track(10)
        channels.track(2, .critical)
        await channels.wakes(at: 3)
        await channels.critical.waitForSends(1)
        #expect(channels.normal.batches.isEmpty)
        await channels.wakes(at: 6)
        await channels.normal.waitForSends(1)
        // The critical route's workers have then seen that nothing waits.
        for _ in 0..<2 { await channels.pipeline.flush() }
        channels.track(50, .critical)
        await channels.critical.waitForSends(2)
        #expect(channels.sizes(channels.critical) == [2, 50])
        #expect(channels.sizes(channels.normal) == [10])
    }

    @Test("retries wait 5 to 10 s, 2.5 to 5 min, and then 10 to 20 min, and the other route goes on")
    func retriesHaveSteps() async throws {
        let channels = try Channels(normal: ScriptedTransport(then: .answer(.all(.retry(after: nil)))))
        // Paused, so that no worker sleeps until the interval of the first event has passed.
        channels.pipeline.pauseDelivery()
        channels.track(50)
        channels.pipeline.resumeDelivery()
        await channels.normal.waitForSends(1)
        var seconds = 0.0
        // The middle of each range.
        for (number, wait) in [7.5, 225, 900, 900].enumerated() {
            seconds += wait
            await channels.wakes(at: seconds)
            await channels.normal.waitForSends(2 + number)
        }
        channels.track(50, .critical)
        await channels.critical.waitForSends(1)
    }

    @Test("an interval outside 6 s to a day is an error", arguments: [5, 86_401])
    func intervalHasRange(seconds: Int) {
        #expect(throws: SluiceError.self) { try Channels(interval: .seconds(seconds)) }
    }
}
