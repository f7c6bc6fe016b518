/// A part of a batch on its way to the receiver.
struct Flight: Sendable {
    /// What came of it.
    struct Landing: Sendable {
        /// The batch as it was when the part left.
        let before: BatchProgress
        let after: BatchProgress
        let verdicts: Verdicts
        let outcome: BatchProgress.Outcome
        /// ``DeliveryMachine/outages`` when the part left.
        let departure: Int
        /// Why nothing is known of the events, if that is so.
        let failure: String?
    }

    private let progress: BatchProgress
    private let part: Batch
    private let departure: Int

    init(_ progress: BatchProgress, _ limit: BatchSize, departure: Int) {
        self.progress = progress
        self.departure = departure
        part = progress.nextPart(limit)
    }

    var id: Batch.ID { part.id }

    /// Sends the part, and waits for what comes of it.
    func landing(over transport: any Transport) async -> Landing {
        var failure: String?
        let verdicts: Verdicts
        do {
            verdicts = try await transport.send(part)
            if case .each(let each) = verdicts, each.count != part.events.count {
                failure = "the transport gave \(each.count) verdicts for \(part.events.count) events"
            }
        } catch {
            // Others' errors may hold what a log must not.
            failure =
                (error as? SluiceError)?.description ?? "\(type(of: error)), of which the text is kept out of logs"
            verdicts = .all(.retry(after: nil))
        }
        var after = progress
        let outcome = after.apply(verdicts, toFirst: part.events.count)
        return Landing(
            before: progress, after: after, verdicts: verdicts, outcome: outcome, departure: departure, failure: failure
        )
    }
}
