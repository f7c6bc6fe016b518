// Does one kind of work a number of times, so that Tests/Instructions/count can count its instructions:
//
//     Instructions ROW EVENTS FOLDER
//
// or the work of a dimension, for Tests/Instructions/linear:
//
//     Instructions --linear DIMENSION COUNT FOLDER

import Dispatch
import Sluice
import SluiceAutoProperties
import SluiceDuration
import SluiceFilters
import SluiceHTTP
import SluiceIdentity
import SluiceJSONL
import SluiceMemory
import SluicePassiveLaunch
import SluicePlan
import SluiceVendors

struct AcceptingTransport: Transport {
    func send(_ batch: Batch) async throws -> Verdicts { .all(.accepted) }
}

struct AcceptingClient: HTTPClient {
    func send(_ request: HTTPRequest) async throws -> HTTPResponse { HTTPResponse(status: 204) }
}

/// Waits until `body` has ended.
func wait(for body: @escaping @Sendable () async throws -> Void) {
    let done = DispatchSemaphore(value: 0)
    Task {
        try await body()
        done.signal()
    }
    done.wait()
}

/// The same as in Examples/Benchmarks: 5 strings, 3 integers, 2 doubles and 2 booleans.
func properties(_ index: Int) -> Properties {
    [
        "product": "Trail running shoes", "currency": "EUR", "category": .string(categories[index % 64]),
        "coupon": .string(coupons[index % 64]), "referrer": .string(referrers[index % 64]),
        "quantity": .int(index % 7 + 1), "stock": .int(1_000_000 - index), "position": .int(index % 40),
        "amount": .double(Double(index % 9_000) + 0.99), "discount": .double(Double(index % 13) / 16),
        "is_gift": .bool(index % 2 == 0), "is_returning": .bool(index % 3 == 0),
    ]
}

/// The same values as variables.
func variables(_ index: Int) -> Properties {
    Properties([
        "product": "Trail running shoes", "currency": "EUR", "category": categories[index % 64],
        "coupon": coupons[index % 64], "referrer": referrers[index % 64], "quantity": index % 7 + 1,
        "stock": 1_000_000 - index, "position": index % 40, "amount": Double(index % 9_000) + 0.99,
        "discount": Double(index % 13) / 16, "is_gift": index % 2 == 0, "is_returning": index % 3 == 0,
    ])
}

let categories = (0..<64).map { "shoes/running/trail-\($0)" }
let coupons = (0..<64).map { "SPRING-\($0)" }
let referrers = (0..<64).map { "https://shop.example/search?q=trail+running+shoes&page=\($0)" }

/// The same event for an encoder, and as the generator of a plan writes it: four strings, two numbers and two booleans.
struct EncodedPurchase: TrackedEvent {
    static let eventName = "Purchase"
    let product: String
    let currency: String
    let category: String
    let coupon: String?
    let quantity: Int
    let amount: Double
    let isGift: Bool
    let isReturning: Bool
}

struct PlannedPurchase: TypedEvent {
    static let eventName = "Purchase"
    var eventProperties: Properties { values.properties }
    private var values = EventValues()

    init(
        product: String, currency: String, category: String, coupon: String? = nil, quantity: Int, amount: Double,
        isGift: Bool, isReturning: Bool
    ) {
        values.add("product", product)
        values.add("currency", currency)
        values.add("category", category)
        values.add("coupon", coupon)
        values.add("quantity", quantity)
        values.add("amount", amount)
        values.add("isGift", isGift)
        values.add("isReturning", isReturning)
    }
}

/// A plan with 20 events, whose "Purchase" has the twelve properties.
func plan() throws -> TrackingPlan {
    let others = (0..<19).map { #""Event \#($0)": {"description": "An event."}"# }.joined(separator: ",")
    let text = #"""
        {"plan": "shop", "version": 1, "events": {\#(others), "Purchase": {"description": "An event.", "properties": {
            "product": {"type": "string", "maxLength": 100}, "currency": {"enum": ["USD", "EUR"]},
            "category": {"type": "string", "maxLength": 100}, "coupon": {"type": "string", "minLength": 1},
            "referrer": {"type": "string"}, "quantity": {"type": "integer", "minimum": 1},
            "stock": {"type": "integer"}, "position": {"type": "integer", "minimum": 0, "maximum": 1000},
            "amount": {"type": "number", "minimum": 0}, "discount": {"type": "number", "minimum": 0, "maximum": 1},
            "is_gift": {"type": "boolean"}, "is_returning": {"type": "boolean"}},
            "required": ["product", "currency", "amount"]}}}
        """#
    return try TrackingPlan(json: Array(text.utf8))
}

@PipelineBuilder
func sixStages(stateIn folder: String) -> ProcessorFragment {
    AutoProperties(appName: "Shop", appVersion: "2.4.1")
    Identity(persistedIn: .file(folder + "/state"))
    DurationTimer()
    PassiveLaunchTagger()
    Redaction(keys: ["password", "token"])
    Limits(eventName: .cut(to: 256), propertyName: .dropProperty(over: 125), string: .cut(to: 2_048))
}

func pipeline(stages: Bool, disk: Bool, in folder: String) throws -> Pipeline {
    let pipeline = try Pipeline {
        if stages { sixStages(stateIn: folder) }
        if disk { JSONLStore(at: folder + "/events", capacity: .max) } else { MemoryStore(capacity: .max) }
        AcceptingTransport()
    }
    pipeline.pauseDelivery()
    return pipeline
}

func track(_ events: Int, _ pipeline: Pipeline, _ properties: (Int) -> Properties = properties) {
    for index in 0..<events { pipeline.track("Purchase", properties(index)) }
    precondition(pipeline.ledger.routes[0].waiting == events)
}

/// The lines of the events as the six stages leave them.
func lines(_ events: Int, in folder: String) throws -> [EventLine] {
    let store = MemoryStore(capacity: .max)
    let pipeline = try Pipeline {
        sixStages(stateIn: folder)
        store
        AcceptingTransport()
    }
    pipeline.pauseDelivery()
    track(events, pipeline)
    return try store.nextBatch(BatchSize(events: .max, bytes: .max))?.events ?? []
}

/// A store with 5,000 segments of one event each, left by an earlier launch.
func storeWithBacklog(in folder: String) throws -> JSONLStore {
    let line = try lines(1, in: folder)[0]
    var files = SystemFileSystem()
    files.maximumFileBytes = line.bytes.count * 3 / 2
    let earlier = try openStore(in: folder, files)
    for _ in 0..<5_000 { try earlier.append(line) }
    earlier.close()
    return try openStore(in: folder)
}

func openStore(in folder: String, _ files: SystemFileSystem = SystemFileSystem()) throws -> JSONLStore {
    let store = JSONLStore(at: folder + "/events", capacity: .max, files: files)
    try store.open()
    return store
}

func run(_ row: String, _ events: Int, in folder: String) throws {
    switch row {
    case "nothing": break
    case "properties":
        var count = 0
        for index in 0..<events { count += properties(index).count }
        precondition(count == 12 * events)
    case "track": track(events, try pipeline(stages: true, disk: true, in: folder))
    case "track-variables": track(events, try pipeline(stages: true, disk: true, in: folder), variables)
    case "track-together":
        let pipeline = try pipeline(stages: true, disk: true, in: folder)
        pipeline.trackTogether { for index in 0..<events { pipeline.track("Purchase", properties(index)) } }
        precondition(pipeline.ledger.routes[0].waiting == events)
    case "track-memory": track(events, try pipeline(stages: true, disk: false, in: folder))
    case "track-no-stage": track(events, try pipeline(stages: false, disk: true, in: folder))
    case "encode":
        let event = try lines(1, in: folder)[0].event()
        var bytes = 0
        for _ in 0..<events { bytes += try EventLine(event).bytes.count }
        precondition(bytes > events)
    case "read":
        let line = try lines(1, in: folder)[0]
        var count = 0
        for _ in 0..<events { count += try line.event().properties.count }
        precondition(count > events)
    case "post-hog", "segment":
        let batch = Batch(id: 1, events: try lines(50, in: folder))
        let format: HTTPFormat = row == "segment" ? .segment(writeKey: "key") : .postHog(apiKey: "key")
        for _ in 0..<events / 50 {
            var request = HTTPRequest(url: "https://shop.example")
            try format.encode(batch, into: &request)
        }
    case "request":
        let batch = Batch(id: 1, events: try lines(50, in: folder))
        let transport = HTTPTransport(
            to: "https://shop.example/events", headers: ["Authorization": "Bearer 0123456789abcdef"],
            configuration: .init(gzip: false, client: AcceptingClient()))
        try transport.open()
        wait {
            for _ in 0..<events / 50 {
                let verdicts = try await transport.send(batch)
                precondition(verdicts == .all(.accepted, status: 204))
            }
        }
    case "append", "next-batch":
        let line = try lines(1, in: folder)[0]
        let store = try openStore(in: folder)
        for _ in 0..<events { try store.append(line) }
        guard row == "next-batch" else { return }
        var count = 0
        while let batch = try store.nextBatch(BatchSize(events: 50, bytes: .max)) {
            count += batch.events.count
            try store.settle(batch.id)
        }
        precondition(count == events)
    case "append-backlog":
        let store = try storeWithBacklog(in: folder)
        let line = try lines(1, in: folder)[0]
        for _ in 0..<events { try store.append(line) }
    case "next-segment":
        let store = try storeWithBacklog(in: folder)
        for _ in 0..<events {
            guard let batch = try store.nextBatch(BatchSize(events: 1, bytes: .max)) else { preconditionFailure() }
            try store.settle(batch.id)
        }
    case "deliver", "deliver-memory":
        let pipeline = try pipeline(stages: false, disk: row == "deliver", in: folder)
        track(events, pipeline)
        wait {
            pipeline.resumeDelivery()
            let ledger = await pipeline.shutdown(timeout: .seconds(600))
            precondition(ledger.routes[0].delivered == events)
        }
    case "typed-encodable", "typed-planned":
        var count = 0
        for index in 0..<events {
            let (category, coupon) = (categories[index % 64], index % 2 == 0 ? coupons[index % 64] : nil)
            let properties =
                if row == "typed-planned" {
                    PlannedPurchase(
                        product: "Trail running shoes", currency: "EUR", category: category, coupon: coupon,
                        quantity: 2,
                        amount: 9.99, isGift: index % 3 == 0, isReturning: true
                    ).eventProperties
                } else {
                    try EncodedPurchase(
                        product: "Trail running shoes", currency: "EUR", category: category, coupon: coupon,
                        quantity: 2,
                        amount: 9.99, isGift: index % 3 == 0, isReturning: true
                    ).eventProperties
                }
            count += properties.count
        }
        precondition(count == 8 * events - events / 2)
    case "plan-check":
        let check = PlanCheck(try plan())
        var event = Event(name: "Purchase", properties: properties(0))
        for _ in 0..<events { precondition(check.process(&event) == .keep) }
        precondition(event.reportedSanitizations.isEmpty)
    default: preconditionFailure("unknown row \(row)")
    }
}

let arguments = CommandLine.arguments
if arguments.count == 5, let count = Int(arguments[3]) {
    try work(on: arguments[2], count, in: arguments[4])
} else {
    guard arguments.count == 4, let events = Int(arguments[2]) else { preconditionFailure("usage: see above") }
    try run(arguments[1], events, in: arguments[3])
}
