import SluiceAutoProperties
import SluiceDuration
import SluiceFilters
import SluiceIdentity
import SluiceJSONL
import SluicePassiveLaunch

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

    /// Six stages and a store on disk.
    static func onDisk(
        in folder: String, durability: JSONLStore.Durability = .process, capacity: Int = .max,
        delivery: DeliveryPolicy = .standard, environment: PipelineEnvironment = PipelineEnvironment(),
        to transport: any Transport = NullTransport()
    ) throws -> Pipeline {
        try Pipeline(delivery: delivery, environment: environment) {
            sixStages(stateIn: folder)
            JSONLStore(
                at: folder + "/events", durability: durability, capacity: capacity)
            transport
        }
    }

    /// Delivers when the benchmark says so. Pausing the delivery would change the status that the store keeps.
    static func onDemand(batch: BatchSize? = nil) -> DeliveryPolicy {
        DeliveryPolicy(batch: batch, flushCount: .max, flushInterval: .seconds(86_400))
    }

    /// Tracks the sample events, without delivery.
    ///
    /// - Parameters:
    ///   - group: how many are stored together. Nil if each event is stored by itself.
    ///   - pauses: false if the policy is ``onDemand(batch:)``.
    /// - Returns: the nanoseconds of an event.
    @discardableResult
    static func track(
        _ events: Int, into pipeline: Pipeline, group: Int? = nil, pauses: Bool = true,
        properties: (Int) -> Properties = { Sample($0).properties }
    ) throws -> Double {
        if pauses { pipeline.pauseDelivery() }
        let time = CPUTime()
        func track(_ range: Range<Int>) {
            for index in range { pipeline.track(Sample.event, properties(index)) }
        }
        if let group {
            for first in stride(from: 0, to: events, by: group) {
                pipeline.trackTogether { track(first..<first + min(group, events - first)) }
            }
        } else {
            track(0..<events)
        }
        let cost = time.nanoseconds(for: events)
        let ledger = pipeline.ledger
        try Failure.unless(ledger.routes[0].waiting, is: events, "waiting events")
        try Failure.unless(ledger.sanitized.count, is: 0, "kinds of sanitizations")
        guard ledger.isBalanced else { throw Failure("the ledger is not balanced: \(ledger)") }
        return cost
    }

    /// Sends all waiting events.
    static func deliver(_ events: Int, of pipeline: Pipeline) async throws {
        pipeline.resumeDelivery()
        await pipeline.flush()
        try Failure.unless(pipeline.ledger.routes[0].delivered, is: events, "delivered events")
    }
}
