import SluiceJSONL
import SluiceMemory

/// `track`: the cost for the caller's thread.
struct SluiceTrack: Candidate {
    /// The place of the events.
    enum Place {
        case disk(JSONLStore.Durability)
        case memory
    }

    let rows: [Row]
    let place: Place
    let hasStages: Bool
    /// How many events are stored together. Nil if each event is stored by itself.
    let group: Int?

    init(
        _ row: String, _ description: String, label: String? = nil, _ place: Place = .disk(.process),
        hasStages: Bool = true, group: Int? = nil
    ) {
        rows = [Row(name: row, description: description, label: label)]
        self.place = place
        self.hasStages = hasStages
        self.group = group
    }

    func measure(_ events: Int, in folder: String) async throws -> [Double] {
        let pipeline = try Pipeline {
            if hasStages { SluicePipeline.sixStages(stateIn: folder) }
            switch place {
            case .disk(let durability): JSONLStore(at: folder + "/events", durability: durability, capacity: .max)
            case .memory: MemoryStore(capacity: .max)
            }
            NullTransport()
        }
        let cost = try SluicePipeline.track(events, into: pipeline, group: group)
        switch place {
        case .disk(.buffered):
            // The shutdown writes the buffer. Delivery stays paused, so the lines stay.
            await pipeline.shutdown(timeout: .seconds(60))
            fallthrough
        case .disk:
            // Before any shutdown: the events must be in the files as soon as track has returned.
            try Failure.unless(Files.lineCount(under: folder + "/events"), is: events, "lines")
        case .memory: break
        }
        return [cost]
    }
}

/// The cost of a stage that does nothing: the difference between a pipeline with and without a hundred of them.
struct SluiceStage: Candidate {
    private static let stages = 100

    let rows = [Row(name: "stage", description: "one more stage that does nothing", baseline: nil, isDifference: true)]

    private struct NoStage: Processor {
        func process(_ event: inout Event) -> Disposition { .keep }
    }

    func measure(_ events: Int, in folder: String) throws -> [Double] {
        func cost(of stages: Int) throws -> Double {
            let pipeline = try Pipeline {
                for _ in 0..<stages { NoStage() }
                MemoryStore(capacity: .max)
                NullTransport()
            }
            return try SluicePipeline.track(events, into: pipeline)
        }
        return [(try cost(of: SluiceStage.stages) - cost(of: 0)) / Double(SluiceStage.stages)]
    }
}

/// `track` with few and with many properties: a third each are strings, integers and doubles.
struct SluiceProperties: Candidate {
    private static let counts = [0, 5, 10, 20, 50]

    let rows = SluiceProperties.counts.map { count in
        Row(
            name: "properties-\(count)", description: "track with \(count) properties of the caller",
            baseline: "properties-0")
    }

    func measure(_ events: Int, in folder: String) throws -> [Double] {
        try SluiceProperties.counts.map { count in
            let names = (0..<count).map { "property_\($0)" }
            let pipeline = try SluicePipeline.onDisk(in: "\(folder)/\(count)")
            return try SluicePipeline.track(events, into: pipeline) { index in
                var properties = Properties()
                for (number, name) in names.enumerated() {
                    switch number % 3 {
                    case 0: properties[name] = .string(Sample(index).category)
                    case 1: properties[name] = .int(index)
                    default: properties[name] = .double(Double(index % 9_000) + 0.99)
                    }
                }
                return properties
            }
        }
    }
}
