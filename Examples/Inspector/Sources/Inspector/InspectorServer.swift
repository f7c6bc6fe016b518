import Foundation
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
        let server = LocalServer(port: port) { try await response(to: $0, port: $1, monitor) }
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
        let html = String(decoding: PackageResources.page_html, as: UTF8.self).replacing("{{nonce}}", with: nonce)
        let policy = """
            default-src 'none'; script-src 'nonce-\(nonce)'; style-src 'nonce-\(nonce)'; connect-src 'self'; \
            img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
            """
        return HTTPResponse(
            headers: ["Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy],
            body: .bytes(Array(html.utf8)))
    }

    private func events(of monitor: Monitor) async -> HTTPResponse {
        HTTPResponse(headers: ["Content-Type": "text/event-stream"], body: .stream(await monitor.connect()))
    }

    /// The body of a replay: the ids of events, or nothing for all dead letters.
    private struct Selection: Decodable {
        var ids: [String]?
    }

    private func replay(_ body: [UInt8]) async -> HTTPResponse {
        guard let destination else { return .text("start sluice serve with --to and --format", status: 409) }
        let selection: Selection
        do {
            selection = try JSONDecoder().decode(Selection.self, from: Data(body))
        } catch {
            return .text("the body must be {\"ids\":[…]}", status: 400)
        }
        let ids = selection.ids.map(Set.init)
        do {
            let replayer = Replayer(folder: folder, destination: destination) { Terminal.note($0) }
            return .text(
                try await replayer.replayDeadLetters { _, id, _ in
                    ids?.contains(id?.description ?? "") ?? true
                }.description)
        } catch {
            return .text("\(error)", status: 409)
        }
    }
}
