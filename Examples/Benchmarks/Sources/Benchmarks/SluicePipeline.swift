import Sluice
import SluiceAutoProperties
import SluiceDuration
import SluiceFilters
import SluiceIdentity
import SluiceLifecycle

/// The pipelines that are measured.
enum SluicePipeline {
    /// The six processors of an ordinary host.
    @PipelineBuilder
    static func sixStages(stateIn folder: String) -> ProcessorFragment {
        AutoProperties(appName: "Shop", appVersion: "2.4.1")
        Identity(persistedIn: .file(folder + "/state"))
        DurationTimer()
        PassiveLaunchTagger()
        Redaction(keys: ["password", "token"])
        Limits(eventName: .cut(to: 256), propertyName: .dropProperty(over: 125), string: .cut(to: 2_048))
    }

    /// Tracks the sample events.
    ///
    /// - Returns: the nanoseconds that took.
    static func track(_ events: Int, into pipeline: Pipeline) throws -> Int {
        // Delivery has a row of its own.
        pipeline.pauseDelivery()
        let time = CPUTime()
        for index in 0..<events {
            pipeline.track(Sample.event, Sample(index).properties)
        }
        let nanoseconds = time.nanoseconds
        let ledger = pipeline.ledger
        try Failure.unless(ledger.routes[0].waiting, is: events, "events wait")
        try Failure.unless(ledger.sanitized.count, is: 0, "kinds of repairs")
        guard ledger.isBalanced else { throw Failure("the ledger is not balanced: \(ledger)") }
        return nanoseconds
    }
}

/// Accepts everything, at no cost.
struct AcceptingTransport: Transport {
    func send(_ batch: Batch) async throws -> Verdicts { .all(.accepted) }
}
