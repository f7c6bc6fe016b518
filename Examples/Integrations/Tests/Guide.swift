// The code of Docs/Integrations.md, so that it compiles. `.ci/integrations` compares the two.

import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
import SluiceAsyncHTTPClient
import SluiceGRDB
import SluiceHTTP
import SluiceHummingbird
import SluiceJSONL
import SluiceLogging
import SluiceMetrics
import SluiceServiceLifecycle
import UnixSignals

private enum Guide {
    static func serve(_ pipeline: Pipeline, _ server: some Service, _ logger: Logger) async throws {
        let group = ServiceGroup(
            services: [PipelineService(pipeline, deadline: .seconds(5)), server],
            gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        try await group.run()
        logger.info("\(pipeline.ledger.routes[0].waiting) events wait for the next process")
    }

    static func trackErrors() throws -> Pipeline {
        let pipeline = try Pipeline(onDiagnostic: { Logger(label: "analytics").log($0) }) {
            JSONLStore(at: "events")
            HTTPTransport(to: "https://collector.example/events")
        }
        LoggingSystem.bootstrap { label in
            MultiplexLogHandler([
                StreamLogHandler.standardError(label: label),
                EventLogHandler(label: label, tracking: pipeline, from: .error),
            ])
        }
        return pipeline
    }

    static func publish(_ pipeline: Pipeline, _ server: some Service, _ logger: Logger) async throws {
        let group = ServiceGroup(
            services: [PipelineMetrics(of: pipeline, every: .seconds(10)), PipelineService(pipeline), server],
            gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        try await group.run()
    }

    static func send(to collector: String, on group: any EventLoopGroup) throws -> Pipeline {
        let client = AsyncHTTPClientAdapter(eventLoopGroup: group, totalTimeout: .seconds(30))
        return try Pipeline {
            JSONLStore(at: "events")
            HTTPTransport(to: collector, configuration: .init(client: client))
        }
    }

    static func keep(in file: String) throws -> Pipeline {
        try Pipeline {
            SQLiteStore(at: file, capacity: 50_000_000)
            HTTPTransport(to: "https://collector.example/events")
        }
    }

    static func router(_ pipeline: Pipeline) -> Router<BasicRequestContext> {
        let router = Router()
        router.add(
            middleware: RequestTracking(by: pipeline) { request, _ in
                RequestUser(anonymousID: request.cookies["visitor"]?.value)
            })
        router.post("/orders/{id}") { _, context in
            pipeline.track("Order", ["id": context.parameters.get("id")])
            return HTTPResponse.Status.created
        }
        return router
    }

    static func withFlush<Result>(
        of pipeline: Pipeline, timeout: Duration = .seconds(2), _ body: () async throws -> Result
    ) async rethrows -> Result {
        do {
            let result = try await body()
            await pipeline.flush(timeout: timeout)
            return result
        } catch {
            await pipeline.flush(timeout: timeout)
            throw error
        }
    }
}
