import Sluice
import SluiceJSONL
import SluiceTesting

@testable import SluiceHTTP

/// A whole pipeline in virtual time, with a store on disk that outlives it, in front of a real socket.
struct HostilePipeline {
    let time: VirtualTime
    let pipeline: Pipeline
    private let diagnosed: Locked<[Diagnostic]>

    /// - Parameter random: what every random number is; half of the range by default, so that every wait is known.
    init(
        to url: String, storingIn directory: String, format: any WireFormat = .jsonArray,
        deadlines: HTTPDeadlines = HTTPDeadlines(), policy: DeliveryPolicy = .standard,
        random: @escaping @Sendable () -> UInt64 = { 1 << 63 }
    ) throws {
        let diagnosed = Locked<[Diagnostic]>([])
        let time = VirtualTime()
        self.diagnosed = diagnosed
        self.time = time
        pipeline = try Pipeline(
            delivery: policy, environment: PipelineEnvironment(time: time, random: random),
            onDiagnostic: { diagnostic in diagnosed.withLock { $0.append(diagnostic) } }
        ) {
            JSONLStore(at: directory)
            HTTPTransport(to: url, format: format, gzip: false, deadlines: deadlines, time: time)
        }
    }

    var ledger: RouteLedger { pipeline.ledger.routes[0] }
    var diagnostics: [Diagnostic.Kind] { diagnosed.withLock { $0.map(\.kind) } }

    func track(_ numbers: Range<Int>) {
        for number in numbers { pipeline.track("Event", ["number": .int(Int64(number))]) }
    }

    /// Delivers until nothing waits; a server that never lets it ends with the time limit of the test.
    func drain() async {
        while await pipeline.flush().waiting > 0 {
            // Not even a flush goes before the time that a server has named.
            time.advanceToNextSleeper()
            await Task.yield()
        }
    }
}
