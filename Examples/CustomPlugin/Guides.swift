// The shorter pieces of code in README.md and Docs. A test compares them, so the pages contain only code that compiles.

import Foundation
import SluiceAutoProperties
import SluiceDuration
import SluiceFilters
import SluiceHTTP
import SluiceIdentity
import SluiceJSONL
import SluiceLifecycle
import SluiceMemory
import SluiceStdout
import SluiceTesting

enum Guides {
    // MARK: README.md

    static func printPurchase() async throws {
        let pipeline = try Pipeline {
            MemoryStore()
            StdoutTransport()
        }
        pipeline.track("Purchase", ["sku": "A-7", "amount": 12.5])
        await pipeline.shutdown()
    }

    static func sendPurchase() async throws {
        let pipeline = try Pipeline(onDiagnostic: { print($0) }) {
            JSONLStore(at: "events")
            HTTPTransport(to: "https://collector.example/events", format: .ndjson)
        }
        pipeline.track("Purchase", ["sku": "A-7", "amount": 12.5])
        await pipeline.shutdown()
    }

    static func withFallback() {
        func makePipeline(in folder: String) throws -> Pipeline {
            do {
                return try Pipeline(onDiagnostic: { print($0) }) {
                    JSONLStore(at: folder)
                    HTTPTransport(to: "https://collector.example/events", format: .ndjson)
                }
            } catch {
                print("events are kept in memory: \(error)")
                return try Pipeline(onDiagnostic: { print($0) }) {
                    MemoryStore()
                    HTTPTransport(to: "https://collector.example/events", format: .ndjson)
                }
            }
        }
    }

    struct Purchase: TrackedEvent {
        static let eventName = "Purchase"
        let sku: String
        let amount: Double
    }

    // MARK: GettingStarted.md

    static func printEvents() async throws {
        let pipeline = try Pipeline {
            MemoryStore()
            StdoutTransport()
        }
        pipeline.track("Search", ["query": "blue shoes", "results": 42])
        await pipeline.shutdown()
    }

    static func values(
        _ pipeline: Pipeline, query: String, results: [String], price: Double, count: Int, coupon: String?
    ) {
        pipeline.track("Search", ["query": query, "results": results.count])
        pipeline.track("Purchase", ["amount": price * Double(count), "coupon": coupon], priority: .critical)
    }

    static func ownTypes(_ pipeline: Pipeline) {
        enum Plan: String, PropertyConvertible { case free, pro }
        pipeline.track("Upgrade", ["plan": Plan.pro])
    }

    static func lists(_ pipeline: Pipeline, query: String, results: [String]) -> Int? {
        var shared = Properties(["query": query])
        shared["results"] = results.count
        pipeline.track("Search", shared + ["page": 2])
        let length = shared["query"]?.string?.count
        return length
    }

    static func otherLists(_ timers: DurationTimer, shared: Properties) {
        timers.end("Search", shared + ["page": 2])
    }

    static func dictionaries(_ pipeline: Pipeline) {
        let counts = ["shoes": 3, "hats": 1]
        pipeline.track("Cart", counts)
    }

    static func typedEvents(_ pipeline: Pipeline) {
        struct Purchase: TrackedEvent {
            static let eventName = "Purchase"
            let sku: String
            let amount: Double
            var coupon: String?
        }
        pipeline.track(Purchase(sku: "A-7", amount: 12.5))
    }

    static func manyEvents(
        _ pipeline: Pipeline, _ requests: [(path: String, time: Timestamp)], _ items: [(sku: String, price: Double)]
    ) {
        pipeline.trackTogether {
            for request in requests {
                pipeline.track("Request", ["path": request.path]) { $0.time = request.time }
            }
        }
        pipeline.track(contentsOf: items.map { Purchase(sku: $0.sku, amount: $0.price) })
    }

    static func processors(folder: String) throws {
        let identity = Identity(persistedIn: .file(folder + "/state"))
        let pipeline = try Pipeline {
            AutoProperties()
            identity
            Redaction()
            JSONLStore(at: folder + "/events")
            HTTPTransport(to: "https://collector.example/events", format: .ndjson)
        }
        try identity.login("customer-42")
        pipeline.track("Login", ["method": "password"])
    }

    enum Environment {
        case development, production
        case test(ScriptedTransport)
    }

    static func makePipeline(_ environment: Environment, folder: String) throws -> Pipeline {
        try Pipeline {
            AutoProperties()
            switch environment {
            case .development:
                MemoryStore()
                StdoutTransport()
            case .test(let transport):
                MemoryStore()
                transport
            case .production:
                JSONLStore(at: folder)
                HTTPTransport(to: "https://collector.example/events", format: .ndjson)
            }
        }
    }

    static func routes(folder: String, writeKey: String) throws {
        let pipeline = try Pipeline {
            AutoProperties()
            Route("warehouse") {
                JSONLStore(at: folder + "/warehouse")
                HTTPTransport(to: "https://clickhouse.example", format: .clickHouse(table: "events"))
            }
            Route("marketing", delivery: DeliveryPolicy(flushInterval: .seconds(60))) {
                Sampling(rate: 0.1)
                JSONLStore(at: folder + "/marketing")
                HTTPTransport(to: "https://api.segment.io", format: .segment(writeKey: writeKey))
            }
        }
        pipeline.track("Purchase")
    }

    static func fragments(isDebug: Bool, folder: String) throws -> Pipeline {
        @PipelineBuilder func common() -> ProcessorFragment {
            AutoProperties()
            Redaction()
        }

        @PipelineBuilder func delivery(to url: String) -> StoreAndTransportFragment {
            if isDebug {
                MemoryStore()
                StdoutTransport()
            } else {
                JSONLStore(at: folder)
                HTTPTransport(to: url, format: .ndjson)
            }
        }

        return try Pipeline {
            common()
            delivery(to: "https://collector.example/events")
        }
    }

    static func flush(_ pipeline: Pipeline) async {
        let report = await pipeline.flush()
        print("\(report.delivered) delivered, \(report.rejected) rejected, \(report.waiting) waiting")
    }

    enum Folders {
        static let events = "/tmp/shop/events"
    }

    static func sharedInstance(query: String) {
        enum Analytics {
            static let pipeline: Pipeline? = {
                do {
                    return try Pipeline(onDiagnostic: { print($0) }) {
                        JSONLStore(at: Folders.events)
                        HTTPTransport(to: "https://collector.example/events", format: .ndjson)
                    }
                } catch {
                    print("no analytics: \(error)")
                    return nil
                }
            }()
        }
        Analytics.pipeline?.track("Search", ["query": query])
    }

    static func flushLater(_ pipeline: Pipeline) {
        func checkOut() {
            pipeline.track("Purchase", ["amount": 12.5])
            Task { await pipeline.flush() }
        }
        checkOut()
    }

    static func shutdown(_ pipeline: Pipeline) async {
        let ledger = await pipeline.shutdown(timeout: .seconds(3))
        for route in ledger.routes where route.waiting > 0 {
            print("\(route.name): \(route.waiting) events wait (\(route.attempts.lastFailure ?? "no failure"))")
        }
    }

    static func diagnostics(folder: String) throws {
        let pipeline = try Pipeline(onDiagnostic: { print($0) }) {
            JSONLStore(at: folder)
            HTTPTransport(to: "https://collector.example/events", format: .ndjson)
        }
        pipeline.track("Purchase")
    }

    static func ledger(_ pipeline: Pipeline) {
        let ledger = pipeline.ledger
        print("\(ledger.tracked) tracked, dropped: \(ledger.dropped), sanitized: \(ledger.sanitized)")
        for route in ledger.routes {
            print("\(route.name): \(route.delivered) delivered, \(route.waiting) waiting, \(route.rejected) rejected")
        }
    }

    static func signals(_ pipeline: Pipeline) {
        pipeline.signal(.launched(.foreground))
        pipeline.signal(.didBecomeActive)
        pipeline.signal(.didEnterBackground)  // Sends the waiting events.
    }

    // MARK: HowDeliveryWorks.md

    static func policy(folder: String) throws {
        let policy = DeliveryPolicy(flushCount: 20, flushInterval: .seconds(60), sendsOverMeteredNetworks: false)
        let pipeline = try Pipeline(delivery: policy) {
            Route("analytics") {
                JSONLStore(at: folder + "/analytics")
                HTTPTransport(to: "https://collector.example/events", format: .ndjson)
            }
            Route("errors", delivery: .appCenter) {
                JSONLStore(at: folder + "/errors")
                HTTPTransport(to: "https://errors.example/events", format: .ndjson)
            }
        }
        pipeline.setFlush(interval: .seconds(300))
    }

    static func deadLetters(_ pipeline: Pipeline) async throws {
        for letter in try await pipeline.deadLetters() {
            print("\(letter.date): \(try letter.event().name): \(letter.reason); \(letter.response ?? "")")
        }
        // You have repaired the server: send its events again.
        try await pipeline.replayDeadLetters(route: "analytics") { $0.reason.contains("HTTP 400") }
        // You don't need the others any more.
        try await pipeline.discardDeadLetters { _ in true }
    }

    static func pause(_ pipeline: Pipeline) async {
        pipeline.pauseDelivery()
        pipeline.track("Purchase")  // It is stored.
        pipeline.resumeDelivery()
        await pipeline.deleteWaitingEvents()  // The user has withdrawn consent.
    }

    // MARK: Testing.md

    static func hostTest() async throws {
        let time = VirtualTime()
        let transport = ScriptedTransport([.answer(.all(.retry(after: nil)))])  // Fails once, then accepts.
        let pipeline = try Pipeline(environment: .virtual(time, seed: 42)) {
            MemoryStore()
            transport
        }
        pipeline.track("Purchase", ["amount": 12.5])
        await pipeline.flush()  // Returns after the failure.
        await time.waitForSleeper()  // The route pauses.
        time.advance(by: .seconds(300))  // No test needs to sleep.
        await transport.waitForSends(2)
        let names = try transport.accepted().map(\.name)
        precondition(names == ["Purchase"])
    }

    static func recordedEvents() throws {
        let store = RecordingStore()
        let pipeline = try Pipeline {
            store
            NullTransport()
        }
        pipeline.track("Purchase", ["amount": 12.5])
        precondition(store.events.map(\.name) == ["Purchase"])
        precondition(store.events[0].properties["amount"]?.double == 12.5)
    }

    final class Checkout {
        private let analytics: any EventTracking

        init(analytics: any EventTracking) { self.analytics = analytics }

        func pay(_ amount: Double) { analytics.track("Purchase", ["amount": amount]) }
    }

    static func failingStore() async throws {
        let store = FaultyStore(MemoryStore()) { operation, number in
            operation == .append && number == 1 ? SluiceError(.storageFull, "the disk is full") : nil
        }
        let pipeline = try Pipeline {
            store
            ScriptedTransport()
        }
        for name in ["First", "Second", "Third"] { pipeline.track(name) }
        let ledger = await pipeline.shutdown()
        precondition(ledger.routes[0].dropped == [.storeFull: 1] && ledger.routes[0].delivered == 2)
        precondition(ledger.isBalanced)
    }

    // MARK: Tracing.md

    static func printTraces() throws {
        let pipeline = try Pipeline(onTrace: { print($0) }) {
            Currency(code: "EUR")
            Redaction(keys: ["email"])
            MemoryStore()
            StdoutTransport()
        }
        pipeline.track("Purchase", ["price": 12.5, "email": "a@b.example"])
    }

    static func printLosses() throws {
        let pipeline = try Pipeline(onTrace: { if !$0.isStored { print($0) } }) {
            Sampling(rate: 0.1)
            MemoryStore()
            StdoutTransport()
        }
        pipeline.track("Purchase")
    }

    static func debugTraces(folder: String) throws {
        var onTrace: (@Sendable (EventTrace) -> Void)?
        #if DEBUG
            onTrace = { print($0) }
        #endif
        let pipeline = try Pipeline(onTrace: onTrace) {
            JSONLStore(at: folder)
            HTTPTransport(to: "https://collector.example/events", format: .ndjson)
        }
        pipeline.track("Purchase")
    }

    static func slowStages() throws {
        let pipeline = try Pipeline(
            onTrace: { trace in
                for stage in trace.stages where stage.duration > .milliseconds(1) {
                    print("\(stage.name) took \(stage.duration) for \(trace.event.name)")
                }
            }
        ) {
            AutoProperties()
            MemoryStore()
            StdoutTransport()
        }
        pipeline.track("Purchase")
    }

    static func tracesInTests() throws {
        let traces = TraceRecorder()
        let pipeline = try Pipeline(onTrace: traces.record) {
            Currency(code: "EUR")
            EventNames(denied: ["Debug*"])
            RecordingStore()
            NullTransport()
        }
        let purchase = pipeline.track("Purchase", ["price": 12.5])
        let changes = traces.traces(of: purchase)[0].stages[0].changes
        precondition(changes == [.property("currency", from: nil, to: "EUR")])

        let debug = pipeline.track("DebugView")
        let stage = traces.stage(dropping: debug)
        precondition(stage?.name == "EventNames" && stage?.disposition == .drop(.filtered))
    }
}

// MARK: WritingAStore.md

extension FileStore {
    static func check() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sluice-file-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var number = 0
        func path() -> String { folder.appending(path: "\(number).events").path }

        try await StoreContract.check(reopen: { FileStore(at: path()) }) {
            number += 1  // Each promise is checked with an empty store.
            return FileStore(at: path())
        }

        let torn = FileHandle(forWritingAtPath: path())
        try torn?.seekToEnd()
        try torn?.write(contentsOf: Data(#"0{"id":"01a213c1-387f-7023"#.utf8))  // As a crash leaves it.
        let waiting = FileStore(at: path())
        try waiting.open(StoreObserver(), in: PipelineEnvironment())
        precondition(waiting.backlog.events == 20)  // The events that the contract has left, without the torn one.
        try FileManager.default.removeItem(at: folder)
    }
}

// MARK: WritingAProcessor.md

enum ClosureStages {
    static func build(isBeta: Bool, audit: String) throws {
        let beta: (any Processor)? = isBeta ? Transform { $0.properties["build"] = "beta" } : nil
        let pipeline = try Pipeline {
            beta
            Filter { $0.name != "Debug" }
            Filter(droppingAs: .burst) { $0.properties["burst"] == nil }
            ArrayStore()
            AuditFile(at: audit)
        }
        pipeline.track("Purchase", ["price": 12.5])
    }
}

// MARK: WritingAWireFormat.md

struct SplitFormat: WireFormat {
    func endpoints(for line: EventLine) throws -> [String] {
        try line.event().name == "Error" ? ["errors", "events"] : ["events"]
    }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath(request.endpoint)
        var body = JSONWriter()
        body.array(batch.events) { $0.raw($1.json) }
        request.body = body.bytes
    }
}

/// Persons and events for a customer database.
struct CustomerFormat: WireFormat {
    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        var body = JSONWriter()
        try body.array(batch.events) { json, line in
            let event = try line.event()
            json.object {
                $0["user"] = event.userID
                $0["device"] = event.deviceID
                switch Verb(event) {
                case .signUp, .switchUser: $0.object("person", event.traits)
                case .set(let properties): $0.object("person", properties)
                case .group(let type, let id, _): $0.object("member", [type: .string(id)])
                case .screen(let name): $0["screen"] = name
                case .revenue(let revenue): $0["amount"] = .double(revenue.amount)
                default: $0.object(event.name, event.properties)
                }
            }
        }
        request.setHeader("Content-Type", "application/json")
        request.body = body.bytes
    }
}

/// Segment's format without email addresses, with a header for a gateway.
struct GatewayFormat: FormatWrapper {
    let base: HTTPFormat
    let onResponse: @Sendable (Int) -> Void

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        let events = try batch.events.map { line in
            var event = try line.event()
            event.properties["email"] = nil
            return try EventLine(event)
        }
        try base.encode(Batch(id: batch.id, events: events, retryCount: batch.retryCount), into: &request)
        request.setHeader("X-Team", "checkout")
    }

    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        onResponse(response.status)
        return base.verdicts(for: batch, from: response)
    }
}
