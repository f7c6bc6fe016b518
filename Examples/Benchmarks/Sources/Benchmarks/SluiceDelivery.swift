import Sluice
import SluiceJSONL

/// The other half of an event's life: from the store to a transport that takes everything, and out of the store.
struct SluiceDelivery: Candidate {
    let row = "deliver"
    let description = "from JSONLStore to a transport that accepts all"

    func nanoseconds(for events: Int, in folder: String) async throws -> Int {
        let pipeline = try Pipeline {
            SluicePipeline.sixStages(stateIn: folder)
            JSONLStore(at: folder + "/events", capacity: .max)
            AcceptingTransport()
        }
        _ = try SluicePipeline.track(events, into: pipeline)
        let time = CPUTime()
        pipeline.resumeDelivery()
        // It drains the store before it closes it.
        let ledger = await pipeline.shutdown(deadline: .seconds(60))
        let nanoseconds = time.nanoseconds
        try Failure.unless(ledger.routes[0].delivered, is: events, "events delivered")
        try Failure.unless(Files.lineCount(under: folder + "/events"), is: 0, "lines left")
        return nanoseconds
    }
}
