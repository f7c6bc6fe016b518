import Logging
import ServiceLifecycle
import SluiceJSONL
import SluiceServiceLifecycle
import SluiceTesting
import Testing

@Suite("ServiceLifecycle")
struct ServiceTests {
    private let logger = Logger(label: "services", factory: { _ in SwiftLogNoOpLogHandler() })

    /// Tracks an event when the group shuts down, as a server does that finishes its last request.
    private struct Server: Service {
        let pipeline: Pipeline

        func run() async throws {
            try await gracefulShutdown()
            pipeline.track("LastRequest")
        }
    }

    private struct Failing: Service {
        func run() async throws { throw SluiceError(.inputOutput, "the port is in use") }
    }

    @Test("a graceful shutdown sends all events, including those of the services below it")
    func gracefulShutdownSends() async throws {
        let transport = ScriptedTransport()
        let pipeline = try Pipeline {
            RecordingStore()
            transport
        }
        let group = ServiceGroup(
            services: [PipelineService(pipeline, deadline: .seconds(600)), Server(pipeline: pipeline)], logger: logger)
        pipeline.track("Request")
        let running = Task { try await group.run() }
        await group.triggerGracefulShutdown()
        try await running.value
        #expect(try transport.accepted().map(\.name) == ["Request", "LastRequest"])
        #expect(pipeline.ledger.isBalanced)
    }

    @Test("if another service fails, the events are sent nevertheless")
    func failureOfOtherServiceSends() async throws {
        let transport = ScriptedTransport()
        let pipeline = try Pipeline {
            RecordingStore()
            transport
        }
        pipeline.track("Request")
        let group = ServiceGroup(
            services: [PipelineService(pipeline, deadline: .seconds(600)), Failing()], logger: logger)
        await #expect(throws: (any Error).self) { try await group.run() }
        #expect(try transport.accepted().map(\.name) == ["Request"])
    }

    @Test("a transport that hangs doesn't keep the group beyond the deadline")
    func hangingTransport() async throws {
        let folder = try TemporaryFolder()
        let transport = ScriptedTransport(then: .hang)
        let time = VirtualTime()
        let pipeline = try Pipeline(environment: .virtual(time)) {
            JSONLStore(at: folder.path + "/store")
            transport
        }
        pipeline.track("Request")
        let group = ServiceGroup(
            services: [PipelineService(pipeline, deadline: .seconds(7))], logger: logger)
        let running = Task { try await group.run() }
        await group.triggerGracefulShutdown()
        await transport.waitForSends(1)
        await time.waitForSleeper(within: Duration.seconds(7)...Duration.seconds(7))
        time.advance(by: .seconds(7))
        try await running.value
        #expect(pipeline.ledger.routes[0].waiting == 1)
    }
}
