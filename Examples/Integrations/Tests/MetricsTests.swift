import CoreMetrics
import Logging
import MetricsTestKit
import ServiceLifecycle
import SluiceMetrics
import SluiceServiceLifecycle
import SluiceTesting
import Testing

@Suite("Metrics")
struct MetricsTests {
    private let factory = TestMetrics()

    private func total(_ label: String, _ dimensions: [(String, String)]) throws -> Int64 {
        try factory.expectCounter(label, dimensions).totalValue
    }

    @Test("the ledger is published by route and reason, and each update adds only the difference")
    func ledgerIsPublished() async throws {
        let pipeline = try Pipeline {
            Route("good") {
                RecordingStore()
                ScriptedTransport()
            }
            Route("bad") {
                RecordingStore { operation, number in
                    operation == .append && number == 1 ? SluiceError(.storageFull, "the disk is full") : nil
                }
                ScriptedTransport([.answer(.all(.unsendable(reason: "no")))])
            }
        }
        let metrics = PipelineMetrics(of: pipeline, factory: factory)
        for name in ["A", "B", ""] { pipeline.track(name) }
        metrics.update()
        #expect(try total("sluice.tracked", []) == 3)
        #expect(try total("sluice.dropped", [("reason", "emptyName"), ("route", "")]) == 1)
        #expect(try total("sluice.dropped", [("reason", "storeFull"), ("route", "bad")]) == 1)
        #expect(try factory.expectGauge("sluice.waiting", [("route", "good")]).lastValue == 2)

        pipeline.track("C")
        await pipeline.shutdown(timeout: .seconds(600))
        metrics.update()
        metrics.update()
        #expect(try total("sluice.tracked", []) == 4)
        #expect(try total("sluice.delivered", [("route", "good")]) == 3)
        #expect(try total("sluice.rejected", [("route", "bad")]) == 2)
        #expect(try factory.expectGauge("sluice.waiting", [("route", "good")]).lastValue == 0)
        #expect(try factory.expectGauge("sluice.dead_letters", [("route", "bad")]).lastValue == 2)
    }

    @Test("a task that is cancelled publishes the last counts")
    func cancelledTaskPublishesLastCounts() async throws {
        let pipeline = try Pipeline {
            RecordingStore()
            NullTransport()
        }
        let metrics = PipelineMetrics(of: pipeline, every: .seconds(86_400), factory: factory)
        let running = Task { await metrics.run() }
        pipeline.track("A")
        running.cancel()
        await running.value
        #expect(try total("sluice.tracked", []) == 1)
        await pipeline.shutdown()
    }

    @Test("in a group, the last update has the counts after the pipeline's shutdown")
    func serviceEndsBehindPipeline() async throws {
        let pipeline = try Pipeline {
            RecordingStore()
            ScriptedTransport()
        }
        let metrics = PipelineMetrics(of: pipeline, every: .seconds(86_400), factory: factory)
        let logger = Logger(label: "services", factory: { _ in SwiftLogNoOpLogHandler() })
        let group = ServiceGroup(
            services: [metrics, PipelineService(pipeline, deadline: .seconds(600))], logger: logger)
        let running = Task { try await group.run() }
        pipeline.track("A")
        await group.triggerGracefulShutdown()
        try await running.value
        #expect(try total("sluice.delivered", [("route", "main")]) == 1)
    }
}
