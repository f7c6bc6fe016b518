import SluiceJSONL

/// From the store to a transport that accepts everything, and out of the store.
struct SluiceDelivery: Candidate {
    let rows = [Row(name: "deliver", description: "from JSONLStore to a transport that accepts all")]

    func measure(_ events: Int, in folder: String) async throws -> [Double] {
        let pipeline = try SluicePipeline.onDisk(in: folder)
        try SluicePipeline.track(events, into: pipeline)
        let time = CPUTime()
        try await SluicePipeline.deliver(events, of: pipeline)
        let cost = time.nanoseconds(for: events)
        try Failure.unless(Files.lineCount(under: folder + "/events"), is: 0, "lines left")
        return [cost]
    }
}

/// `track` at full speed while the pipeline delivers.
struct SluiceSteady: Candidate {
    let rows = [
        Row(name: "steady-track", description: "track without delivery, in the same rounds as steady"),
        Row(name: "steady", description: "track and deliver at the same time", baseline: "steady-track"),
        Row(
            name: "steady-sends", description: "calls of Transport.send in this row",
            unit: Unit(name: "/100,000 events"), baseline: nil),
    ]

    func measure(_ events: Int, in folder: String) async throws -> [Double] {
        // Enough for the start and the end not to matter.
        let events = events * 5
        let trackCost = try SluicePipeline.track(events, into: SluicePipeline.onDisk(in: folder + "/track"))
        let pipeline = try SluicePipeline.onDisk(in: folder + "/steady")
        let time = CPUTime()
        for index in 0..<events {
            pipeline.track(Sample.event, Sample(index).properties)
        }
        try await SluicePipeline.deliver(events, of: pipeline)
        let cost = time.nanoseconds(for: events)
        return [trackCost, cost, Double(pipeline.ledger.routes[0].attempts.total) * 100_000 / Double(events)]
    }
}
