import Foundation
import StoreFiles

@testable import Inspector

/// Runs an inspector for a folder on a free port until `body` returns. Wrong tokens don't cost any time by default.
func withInspector<Result: Sendable>(
    _ folder: TestFolder, destination: Destination? = nil, wrongTokenDelay: WrongTokenDelay = WrongTokenDelay {},
    _ body: (RawClient, _ token: String) async throws -> Result
) async throws -> Result {
    let rules = AccessRules.random()
    let server = InspectorServer(
        folder: try StoreFolder(folder.path), destination: destination, port: 0, rules: rules,
        wrongTokenDelay: wrongTokenDelay)
    return try await withServer { ready in
        try await server.run(onReady: ready)
    } _: { port in
        try await body(RawClient(port: port), rules.token)
    }
}

/// A backend that keeps the lines of all requests that it answers with 200.
actor Collector {
    private(set) var lines: [String] = []

    func add(_ body: String) {
        lines += body.split(separator: "\n").map(String.init)
    }
}

/// Runs a backend on a free port until `body` returns.
func withCollector<Result: Sendable>(
    status: @escaping @Sendable (_ body: String) -> Int,
    _ body: (_ url: String, Collector) async throws -> Result
) async throws -> Result {
    let collector = Collector()
    return try await withServer { ready in
        let limits = LocalServer.Limits(body: 10_000_000, time: .seconds(600))
        try await LocalServer(port: 0, limits: limits) { request, _ in
            let body = String(decoding: request.body, as: UTF8.self)
            let status = status(body)
            if status == 200 { await collector.add(body) }
            return HTTPResponse(status: status, body: .bytes([]))
        }.run(onReady: ready)
    } _: { port in
        try await body("http://127.0.0.1:\(port)/", collector)
    }
}

/// Runs a server until `body` returns.
func withServer<Result: Sendable>(
    _ run: @escaping @Sendable (_ ready: @escaping @Sendable (Int) -> Void) async throws -> Void,
    _ body: (_ port: Int) async throws -> Result
) async throws -> Result {
    let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
    return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
            defer { continuation.finish() }
            try await run { continuation.yield($0) }
        }
        defer { group.cancelAll() }
        guard let port = await ports.first(where: { _ in true }) else { throw NoServer() }
        return try await body(port)
    }
}

struct NoServer: Error {}

/// Sends a request exactly as it is written.
struct RawClient: Sendable {
    let port: Int

    /// - Parameter isEnough: Ends reading before the server closes the connection.
    func send(
        _ method: String = "GET", _ path: String, headers: [String] = [], host: String? = nil, body: String = "",
        until isEnough: @escaping @Sendable (String) -> Bool = { _ in false }
    ) async -> String {
        let lines =
            [
                "\(method) \(path) HTTP/1.1", "Host: \(host ?? "127.0.0.1:\(port)")",
                "Content-Length: \(body.utf8.count)",
            ]
            + headers + ["Connection: close", "", body]
        return await send(raw: lines.joined(separator: "\r\n"), until: isEnough)
    }

    /// - Parameter endsRequest: Whether nothing follows the text.
    func send(
        raw text: String, endsRequest: Bool = false,
        until isEnough: @escaping @Sendable (String) -> Bool = { _ in false }
    ) async -> String {
        // Blocking calls must not take a thread of the tasks, nor of the queues, on which the servers wait.
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(returning: exchange(Array(text.utf8), endsRequest, until: isEnough))
            }
        }
    }

    private func exchange(_ request: [UInt8], _ endsRequest: Bool, until isEnough: (String) -> Bool) -> String {
        #if canImport(Darwin)
            let kind = SOCK_STREAM
        #else
            let kind = Int32(SOCK_STREAM.rawValue)
        #endif
        let descriptor = socket(AF_INET, kind, 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected, write(descriptor, request, request.count) == request.count else { return "" }
        if endsRequest { shutdown(descriptor, CInt(SHUT_WR)) }
        var response: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return String(decoding: response, as: UTF8.self) }
            response += buffer[..<count]
            let text = String(decoding: response, as: UTF8.self)
            if isEnough(text) { return text }
        }
    }
}
