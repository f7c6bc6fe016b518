import Sluice
import SluiceJSONL
import SluiceTesting

@testable import SluiceHTTP

/// A pipeline in virtual time, with a store on disk and a real socket. The store outlives the pipeline.
struct HostilePipeline {
    /// Longer than every wait for the receiver.
    static let interval = Duration.seconds(86_400)

    let time: VirtualTime
    let pipeline: Pipeline
    private let told = Arrivals<Diagnostic>()

    /// - Parameter random: The random numbers. By default half of their range, which makes every wait predictable.
    init(
        to url: String, storingIn directory: String, format: HTTPFormat = .jsonArray,
        timeouts: HTTPTimeouts = HTTPTimeouts(), policy: DeliveryPolicy = .standard,
        random: @escaping @Sendable () -> UInt64 = { 1 << 63 }
    ) throws {
        let time = VirtualTime()
        var configuration = HTTPTransport.Configuration(timeouts)
        configuration.gzip = false
        self.time = time
        var policy = policy
        // The alarm for the interval would be the first one.
        policy.flushInterval = HostilePipeline.interval
        pipeline = try Pipeline(
            delivery: policy, environment: PipelineEnvironment(time: time, random: random), onDiagnostic: told.add
        ) {
            JSONLStore(at: directory)
            HTTPTransport(to: url, format: format, configuration: configuration)
        }
    }

    var ledger: RouteLedger { pipeline.ledger.routes[0] }
    var diagnostics: [Diagnostic.Kind] { told.all.map(\.kind) }

    func track(_ numbers: Range<Int>) {
        for number in numbers { pipeline.track("Event", ["number": .int(Int64(number))]) }
    }

    /// Flushes until no event is waiting.
    func drain() async {
        while await pipeline.flush().waiting > 0 {
            // A flush doesn't shorten a Retry-After.
            time.advanceToNextSleeper()
            await Task.yield()
        }
    }
}
