import Sluice
import SluiceTesting
import Testing

/// A pipeline of one route in virtual time, whose random numbers are all one half: every wait is known. The first pause takes 1 s.
struct Bench {
    static let policy = DeliveryPolicy(
        batch: BatchSize(events: 10, bytes: .max), flushCount: 5, flushInterval: .seconds(15),
        criticalInterval: .seconds(3), backOff: .seconds(2) / 1.1, maximumBackOff: .seconds(300))

    let time = VirtualTime()
    let transport: ScriptedTransport
    let store: any Store
    let pipeline: Pipeline
    private let diagnosed = Locked<[Diagnostic]>([])

    init(
        _ transport: ScriptedTransport = ScriptedTransport(), store: any Store = WatchedStore(),
        delivery: DeliveryPolicy = Bench.policy, processor: any Processor = Keep()
    ) throws {
        self.transport = transport
        self.store = store
        pipeline = try Pipeline(
            delivery: delivery, environment: Bench.environment(time),
            onDiagnostic: { [diagnosed] diagnostic in diagnosed.withLock { $0.append(diagnostic) } }
        ) {
            processor
            store
            transport
        }
    }

    /// How long an event waits that has failed alone so many times, and nothing was accepted.
    static func wait(_ tries: Int, isRefused: Bool = false) -> Double {
        var seconds = 1.0
        for _ in 1..<tries { seconds *= 1.3 }
        // The middle of 10 to 100 %, and of 50 to 100 %.
        return isRefused ? seconds * 0.75 / 0.55 : min(seconds, 0.55 * 300)
    }

    /// Each random number is half of the range.
    static func environment(_ time: VirtualTime) -> PipelineEnvironment {
        PipelineEnvironment(time: time, random: { 1 << 63 })
    }

    var ledger: RouteLedger { pipeline.ledger.routes[0] }

    var diagnostics: [Diagnostic] { diagnosed.withLock(\.self) }

    func track(_ count: Int, priority: Event.Priority = .normal) {
        for number in 0..<count { pipeline.track("Event \(number)", priority: priority) }
    }

    /// Tracks during a pause. Otherwise a worker could take some of the events before all are tracked.
    func trackWhilePaused(_ count: Int) {
        pipeline.pauseDelivery()
        track(count)
        pipeline.resumeDelivery()
    }

    /// Waits until the route sleeps until exactly `seconds` of the continuous clock.
    func sleeps(until seconds: Double) async {
        let deadline = Duration.seconds(seconds)
        // Fractions of seconds are not exact.
        await time.waitForSleeper(within: deadline - .microseconds(10)...deadline + .microseconds(10))
    }

    /// Advances the time to just before `seconds`, checks that the route still sleeps and has sent nothing, and then
    /// advances the rest. If the route sends too early, the test doesn't end.
    func sends(at seconds: Double, sourceLocation: SourceLocation = #_sourceLocation) async {
        await sleeps(until: seconds)
        let before = transport.batches.count
        time.advance(by: .seconds(seconds) - time.continuousTime() - .milliseconds(1))
        await sleeps(until: seconds)
        #expect(transport.batches.count == before, "sent before \(seconds) s", sourceLocation: sourceLocation)
        time.advanceToNextSleeper()
        await transport.waitForSends(before + 1)
    }

    /// Returns when no event waits and the route has seen that: the next event starts a new interval.
    ///
    /// The first flush may return as soon as the last batch is settled; the second is answered by a look at the store.
    func drained() async {
        await pipeline.flush()
        await pipeline.flush()
    }

    /// The numbers of events in all sends so far.
    var sizes: [Int] { transport.batches.map(\.events.count) }
}

extension ScriptedTransport.Step {
    /// No response.
    static let retry = answer(.all(.retry(after: nil)))
}

/// A processor that does nothing.
struct Keep: Processor {
    func process(_ event: inout Event) -> Disposition { .keep }
}

/// A stage that appends a text to the names of events.
func suffix(_ text: String) -> Transform { Transform { $0.name += text } }

/// An object that does nothing, with a context.
final class Plugin: Processor {
    let context = PluginContext()

    func process(_ event: inout Event) -> Disposition { .keep }
}
