import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Sluice
import StoreFiles

/// Serves the page, its events and the replay on 127.0.0.1.
struct InspectorServer: Sendable {
    let folder: StoreFolder
    /// Nil if the page can't replay.
    let destination: Destination?
    /// Zero for any free port.
    let port: Int
    let rules: AccessRules
    var wrongTokenDelay = WrongTokenDelay()

    /// Serves until the task is cancelled.
    ///
    /// - Parameter onReady: Called with the port as soon as it accepts connections.
    func run(onReady: @escaping @Sendable (_ port: Int) -> Void) async throws {
        let monitor = Monitor(folder, destination: destination)
        var logger = Logger(label: "sluice")
        logger.logLevel = .critical
        let application = Application(
            router: router(monitor),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { onReady($0.localAddress?.port ?? 0) },
            logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await monitor.run() }
            group.addTask { try await serve(application) }
            defer { group.cancelAll() }
            _ = try await group.next()
        }
    }

    private func serve(_ application: some ApplicationProtocol) async throws {
        do {
            try await application.run()
        } catch let error as IOError where PortProblem.codes.contains(error.errnoCode) {
            throw PortProblem(port: port, code: error.errnoCode)
        }
    }

    private func router(_ monitor: Monitor) -> Router<InspectorContext> {
        let router = Router(context: InspectorContext.self)
        router.add(middleware: AccessMiddleware(rules: rules, wrongTokenDelay: wrongTokenDelay))
        router.get("/") { _, _ in page() }
        router.get("/events") { _, _ in events(of: monitor) }
        router.post("/replay") { request, _ in try await replay(request) }
        return router
    }

    /// The page. Its policy allows only its own script, style and connections.
    private func page() -> Response {
        let nonce = AccessRules.random().token
        let html = String(decoding: PackageResources.page_html, as: UTF8.self).replacing("{{nonce}}", with: nonce)
        var response = Response(
            status: .ok, headers: [.contentType: "text/html; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: html)))
        response.headers[.contentSecurityPolicy] = """
            default-src 'none'; script-src 'nonce-\(nonce)'; style-src 'nonce-\(nonce)'; connect-src 'self'; \
            img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
            """
        return response
    }

    private func events(of monitor: Monitor) -> Response {
        Response(
            status: .ok, headers: [.contentType: "text/event-stream"],
            body: ResponseBody { writer in
                for await frame in await monitor.connect() {
                    try await writer.write(ByteBuffer(bytes: frame))
                }
                try await writer.finish(nil)
            })
    }

    /// The body of a replay: the ids of events, or nothing for all dead letters.
    private struct Selection: Decodable {
        var ids: [String]?
    }

    private func replay(_ request: Request) async throws -> String {
        guard let destination else { throw HTTPError(.conflict, message: "start sluice serve with --to and --format") }
        let body = try await request.body.collect(upTo: 1_048_576)
        let selection: Selection
        do {
            selection = try JSONDecoder().decode(Selection.self, from: Data(body.readableBytesView))
        } catch {
            throw HTTPError(.badRequest, message: "the body must be {\"ids\":[…]}")
        }
        let ids = selection.ids.map(Set.init)
        do {
            let replayer = Replayer(folder: folder, destination: destination) { Terminal.note($0) }
            return try await replayer.replayDeadLetters { _, id, _ in
                ids?.contains(id?.description ?? "") ?? true
            }.description
        } catch {
            throw HTTPError(.conflict, message: "\(error)")
        }
    }
}

/// The server can't listen on the port.
struct PortProblem: Error, CustomStringConvertible {
    /// The errors that another port may not have.
    static let codes: Set<CInt> = [EADDRINUSE, EACCES, EPERM, EADDRNOTAVAIL]

    let port: Int
    let code: CInt

    var description: String {
        let reason =
            switch code {
            case EADDRINUSE: "is in use"
            case EACCES, EPERM: "is not allowed for this user"
            default: "can't be used (\(String(cString: strerror(code))))"
            }
        return "port \(port) \(reason): pass another one with --port, or 0 for any free one"
    }
}

/// A request with the port on which it arrived.
struct InspectorContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let port: Int

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        port = source.channel.localAddress?.port ?? 0
    }
}

/// Applies the ``AccessRules`` to each request, and adds headers to each response.
struct AccessMiddleware: RouterMiddleware {
    let rules: AccessRules
    let wrongTokenDelay: WrongTokenDelay

    func handle(
        _ request: Request, context: InspectorContext,
        next: (Request, InspectorContext) async throws -> Response
    ) async throws -> Response {
        let refusal = rules.refusal(
            of: AccessRules.Request(
                isPost: request.method != .get, host: request.head.authority, origin: request.headers[.origin],
                token: request.uri.queryParameters["token"].map { String($0) }),
            port: context.port)
        if let refusal {
            if refusal == .wrongToken { try await wrongTokenDelay.wait() }
            throw HTTPError(.forbidden, message: refusal.rawValue)
        }
        var response = try await next(request, context)
        response.headers[.cacheControl] = "no-store"
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[.crossOriginResourcePolicy] = "same-origin"
        return response
    }
}
