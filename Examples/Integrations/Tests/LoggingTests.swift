import InMemoryLogging
import Logging
import SluiceLogging
import SluiceTesting
import Testing

@Suite("Logging")
struct LoggingTests {
    private let store = RecordingStore()

    private func pipeline(
        logging handler: InMemoryLogHandler? = nil, _ processor: some Processor = Passing()
    ) throws -> Pipeline {
        let logger = handler.map { handler in Logger(label: "sluice", factory: { _ in handler }) }
        return try Pipeline(onDiagnostic: { logger?.log($0) }) {
            processor
            store
            ScriptedTransport([.answer(.all(.unsendable(reason: "no such event")))])
        }
    }

    private struct Passing: Processor {
        func process(_ event: inout Event) -> Disposition { .keep }
    }

    @Test("a diagnostic is logged with its level, kind and route")
    func diagnosticIsLogged() async throws {
        let handler = InMemoryLogHandler()
        let pipeline = try pipeline(logging: handler)
        pipeline.track("A")
        await pipeline.flush()
        let entry = try #require(handler.entries.first)
        #expect(entry.level == .error)
        #expect(entry.message.description.contains("no such event"))
        #expect(entry.metadata == ["sluice.diagnostic": "rejected", "sluice.route": "main"])
        await pipeline.shutdown()
    }

    @Test("each severity has its level")
    func severitiesHaveLevels() {
        #expect(Diagnostic.Severity.info.logLevel == .info)
        #expect(Diagnostic.Severity.warning.logLevel == .warning)
        #expect(Diagnostic.Severity.error.logLevel == .error)
    }

    @Test("records from a level on become events, and others don't, even if the logger's level is lowered")
    func recordsBecomeEvents() throws {
        let pipeline = try pipeline()
        var logger = Logger(
            label: "orders",
            factory: { label in
                MultiplexLogHandler([SwiftLogNoOpLogHandler(), EventLogHandler(label: label, tracking: pipeline)])
            })
        logger.logLevel = .trace
        logger[metadataKey: "order"] = "7"
        logger.warning("a warning")
        logger.error("can't charge", metadata: ["card": ["kind": "visa", "tries": ["1", "2"]]])
        logger.critical("out of money")
        #expect(store.events.map(\.name) == ["Log", "Log"])
        #expect(store.events.map(\.priority) == [.normal, .critical])
        let properties = store.events[0].properties
        #expect(properties["level"] == "error")
        #expect(properties["message"] == "can't charge")
        #expect(properties["logger"] == "orders")
        #expect(properties["source"] == "IntegrationTests")
        #expect(properties["file"]?.string?.hasSuffix("LoggingTests.swift") == true)
        let card: PropertyValue = ["kind": "visa", "tries": ["1", "2"]]
        #expect(properties["metadata"] == ["order": "7", "card": card])
    }

    @Test("an error of a record is a property")
    func errorIsProperty() throws {
        let pipeline = try pipeline()
        let logger = Logger(label: "a", factory: { EventLogHandler(label: $0, tracking: pipeline) })
        logger.error("failed", error: SluiceError(.storageFull, "the disk is full"))
        #expect(store.events[0].properties["error"] == "storageFull: the disk is full")
    }

    @Test("a diagnostic that is logged to the handler of its own pipeline causes no event")
    func diagnosticCausesNoEvent() async throws {
        let handler = Handler()
        let pipeline = try Pipeline(onDiagnostic: { handler.logger?.log($0) }) {
            RecordingStore(store) { operation, _ in
                operation == .append ? SluiceError(.storageFull, "the disk is full") : nil
            }
            NullTransport()
        }
        handler.track(by: pipeline)
        handler.logger?.error("an event that is lost")
        #expect(pipeline.ledger.tracked == 1)
        await pipeline.shutdown()
    }

    @Test("a diagnostic of a delivery causes no event")
    func diagnosticOfDeliveryCausesNoEvent() async throws {
        let handler = Handler()
        let pipeline = try Pipeline(onDiagnostic: { handler.logger?.log($0) }) {
            store
            ScriptedTransport(then: .answer(.all(.rejected(reason: "no such event"))))
        }
        handler.track(by: pipeline)
        handler.logger?.error("an event that is rejected")
        await pipeline.flush()
        await pipeline.shutdown()
        #expect(store.events.map(\.name) == ["Log"])
    }

    @Test("a processor that logs while it processes a record doesn't recurse")
    func processorDoesNotRecurse() async throws {
        let handler = Handler()
        let pipeline = try pipeline(Chatty(handler: handler))
        handler.track(by: pipeline)
        handler.logger?.error("once")
        #expect(store.events.map { $0.properties["message"] } == ["once"])
        pipeline.track("Purchase")
        #expect(store.events.map(\.name) == ["Log", "Log", "Purchase"])
    }

    /// A logger whose pipeline is built later.
    private final class Handler: Sendable {
        private let pipeline = Box<Pipeline>()

        var logger: Logger? {
            pipeline.value.map { pipeline in
                Logger(label: "loop", factory: { EventLogHandler(label: $0, tracking: pipeline) })
            }
        }

        func track(by pipeline: Pipeline) { self.pipeline.value = pipeline }
    }

    private struct Chatty: Processor {
        let handler: Handler

        func process(_ event: inout Event) -> Disposition {
            handler.logger?.error("processing")
            return .keep
        }
    }
}
