import Foundation
import Sluice
import StoreFiles

/// Serves the page, its events and the replay on 127.0.0.1, and receives events if it has a receiver.
struct InspectorServer: Sendable {
    let folder: StoreFolder
    /// Nil if the page can't replay.
    let destination: Destination?
    /// Zero for any free port.
    let port: Int
    let rules: AccessRules
    /// Takes each POST whose path is not one of the page's.
    var receiver: Receiver?
    var wrongTokenDelay = WrongTokenDelay()

    /// Serves until the task is cancelled.
    ///
    /// - Parameter onReady: Called with the port as soon as it accepts connections.
    func run(onReady: @escaping @Sendable (_ port: Int) -> Void) async throws {
        let monitor = Monitor(folder, destination: destination, receiver: receiver)
        // A batch of events can be much larger than a request of the page.
        let limits = LocalServer.Limits(body: receiver == nil ? 1_048_576 : 67_108_864)
        let server = LocalServer(port: port, limits: limits) {
            await receiver?.refuse($0)
        } respond: { request, port in
            if let receiver, ["POST", "PUT"].contains(request.method), request.path != "/replay" {
                return try await receiver.respond(to: request)
            }
            return try await response(to: request, port: port, monitor)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await monitor.run() }
            group.addTask { try await server.run(onReady: onReady) }
            defer { group.cancelAll() }
            _ = try await group.next()
        }
    }

    /// Applies the ``AccessRules``, and adds headers to each response.
    private func response(to request: HTTPRequest, port: Int, _ monitor: Monitor) async throws -> HTTPResponse {
        let refusal = rules.refusal(
            of: AccessRules.Request(
                isPost: request.method != "GET", host: request.headers["host"], origin: request.headers["origin"],
                token: request.query["token"]),
            port: port)
        if refusal == .wrongToken { try await wrongTokenDelay.wait() }
        var response =
            if let refusal {
                HTTPResponse.text(refusal.rawValue, status: 403)
            } else {
                switch (request.method, request.path) {
                case ("GET", "/"): page()
                case ("GET", "/events"): await events(of: monitor)
                case ("GET", "/scan"): await scan(request.query, monitor)
                case ("POST", "/replay"): await replay(request.body)
                default: HTTPResponse.text("there is no such page", status: 404)
                }
            }
        response.headers["Cache-Control"] = "no-store"
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        return response
    }

    /// The page. Its policy allows only its own script, style and connections.
    private func page() -> HTTPResponse {
        let nonce = AccessRules.random().token
        let scripts = [
            PackageResources.base_js, PackageResources.rows_js, PackageResources.events_js,
            PackageResources.delivery_js,
            PackageResources.counts_js, PackageResources.live_js,
        ]
        let html = text(PackageResources.page_html)
            .replacing("{{style}}", with: text(PackageResources.style_css))
            .replacing("{{script}}", with: scripts.map(text).joined(separator: "\n"))
            .replacing("{{nonce}}", with: nonce)
        let policy = """
            default-src 'none'; script-src 'nonce-\(nonce)'; style-src 'nonce-\(nonce)'; connect-src 'self'; \
            img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
            """
        return HTTPResponse(
            headers: ["Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy],
            body: .bytes(Array(html.utf8)))
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    /// Streams the progress and the result of a search in the whole folder.
    private func scan(_ parameters: [String: String], _ monitor: Monitor) async -> HTTPResponse {
        let query: EventQuery
        do throws(BodyProblem) {
            query = try EventQuery(parameters)
        } catch {
            return .text(error.message, status: 400)
        }
        var folder = folder
        // A page has the routes that it has seen. Delivered ones may have no directory any more.
        if let route = parameters["route"], !route.isEmpty { folder.route = route }
        let former = await monitor.formerEvents.filter { folder.route == nil || $0.route == folder.route }
        let scan = PageScan(folder: folder, query: query, former: former)
        return HTTPResponse(headers: ["Content-Type": "application/x-ndjson"], body: .stream(scan.stream()))
    }

    private func events(of monitor: Monitor) async -> HTTPResponse {
        HTTPResponse(headers: ["Content-Type": "text/event-stream"], body: .stream(await monitor.connect()))
    }

    /// The body of a replay: the route, and the dead letters as ids or as a group, or neither for all of the route.
    private struct Selection: Decodable {
        var route: String
        var ids: Set<String>?
        var group: Group?

        struct Group: Decodable {
            var reason: String
            var response: String?
        }
    }

    private func replay(_ body: [UInt8]) async -> HTTPResponse {
        guard let destination else { return .text("start sluice serve with --to and --format", status: 409) }
        let selection: Selection
        do {
            selection = try JSONDecoder().decode(Selection.self, from: Data(body))
        } catch {
            return .text("the body must be {\"route\":…,\"ids\":[…]}, or have a group instead of the ids", status: 400)
        }
        do {
            let replayer = Replayer(
                folder: try folder.only(selection.route), destination: destination, route: selection.route
            ) { Terminal.note($0) }
            let (ids, group) = (selection.ids, selection.group)
            return .text(
                try await replayer.replayDeadLetters { letter in
                    if let ids, !ids.contains(letter.id?.description ?? "") { return false }
                    return group.map { $0.reason == letter.reason && $0.response == letter.response } ?? true
                }.description)
        } catch {
            return .text("\(error)", status: 409)
        }
    }
}
