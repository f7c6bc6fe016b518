// A shop that tracks its requests and purchases. Open http://127.0.0.1:8080/ and watch the events.
//
//     swift run Shop [--port 8080] [--store FOLDER|FILE.sqlite] [--to URL] [--deadline SECONDS]
//     swift run -c release Shop --measure REQUESTS
//
// Without --to, events go to standard output. SIGTERM and control-C send the rest within the deadline. --measure prints how
// much tracking adds to the latency of the page, and fails if an event is missing.

import Foundation
import Hummingbird
import Logging
import SluiceAsyncHTTPClient
import SluiceGRDB
import SluiceHTTP
import SluiceHummingbird
import SluiceIdentity
import SluiceJSONL
import SluiceLogging
import SluiceServiceLifecycle
import SluiceStdout

@main
enum Shop {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        func option(_ name: String) -> String? {
            arguments.firstIndex(of: name).flatMap { arguments.indices.contains($0 + 1) ? arguments[$0 + 1] : nil }
        }
        if let count = option("--measure").flatMap({ Int($0) }), count > 0 {
            guard try await Load.run(count) else { exit(1) }
            return
        }
        let logger = Logger(label: "Shop", factory: { StreamLogHandler.standardError(label: $0) })
        let pipeline = try pipeline(storingAt: option("--store") ?? "shop-events", to: option("--to"), logger)
        let deadline = option("--deadline").flatMap { Double($0) } ?? 5
        let application = Application(
            router: router(pipeline),
            configuration: .init(address: .hostname("127.0.0.1", port: option("--port").flatMap { Int($0) } ?? 8_080)),
            services: [PipelineService(pipeline, deadline: .seconds(deadline))],
            onServerRunning: { channel in say("# http://127.0.0.1:\(channel.localAddress?.port ?? 0)/\n") },
            logger: logger)
        try await application.runService()
        let route = pipeline.ledger.routes[0]
        say("# delivered \(route.delivered), waiting \(route.waiting), dropped \(route.dropped.total)\n")
    }

    static func pipeline(storingAt path: String, to url: String?, _ logger: Logger) throws -> Pipeline {
        try Pipeline(onDiagnostic: { logger.log($0) }) {
            UserScope()
            if path.hasSuffix(".sqlite") {
                SQLiteStore(at: path)
            } else {
                JSONLStore(at: path)
            }
            if let url {
                HTTPTransport(to: url, configuration: .init(client: AsyncHTTPClientAdapter()))
            } else {
                StdoutTransport()
            }
        }
    }

    /// Returns the pages of the shop. Without a tracker, nothing is tracked.
    static func router(_ tracker: (any EventTracking)?) -> Router<ShopContext> {
        let router = Router(context: ShopContext.self)
        router.add(middleware: Visitors())
        if let tracker {
            router.add(middleware: RequestTracking(by: tracker) { _, context in context.user })
        }
        router.get("/") { _, context in Page(user: context.user.loginID) }
        router.post("/buy/:sku") { _, context in
            guard let product = Product.all.first(where: { $0.sku == context.parameters.get("sku") }) else {
                throw HTTPError(.notFound)
            }
            tracker?.track("Purchase", ["sku": product.sku, "amount": product.price])
            return Page(user: context.user.loginID, message: "You have bought \(product.name).")
        }
        router.post("/login") { request, context in
            struct Form: Decodable { let name: String }
            let name = try await request.decode(as: Form.self, context: context).name
            let value = name.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            UserScope.with(loginID: name, anonymousID: context.user.anonymousID) {
                _ = tracker?.track("Login")
            }
            var response = Response(status: .seeOther, headers: [.location: "/"])
            response.setCookie(Cookie(name: "user", value: value, path: "/", sameSite: .lax))
            return response
        }
        return router
    }

    private static func say(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }
}
