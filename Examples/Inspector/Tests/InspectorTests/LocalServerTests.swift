import Foundation
import Testing

@testable import Inspector

@Suite("HTTP on this machine")
struct LocalServerTests {
    /// Runs a server that answers with the method, the path, the token and the body.
    @discardableResult
    private func withEcho<Result: Sendable>(
        _ limits: LocalServer.Limits = LocalServer.Limits(time: .seconds(600)),
        _ body: (RawClient) async throws -> Result
    ) async throws -> Result {
        try await withServer { ready in
            try await LocalServer(port: 0, limits: limits) { request, _ in
                let body = String(decoding: request.body, as: UTF8.self)
                return .text("\(request.method) \(request.path) \(request.query["token"] ?? "-") \(body)")
            }.run(onReady: ready)
        } _: { port in
            try await body(RawClient(port: port))
        }
    }

    private func answer(_ text: String) -> String {
        text.split(separator: "\r\n\r\n", maxSplits: 1).last.map(String.init) ?? ""
    }

    @Test("A request is read with its parameters and its body")
    func readsRequest() async throws {
        try await withEcho { client in
            #expect(answer(await client.send("POST", "/a?b=1&token=x%20y&token=z", body: "text")) == "POST /a x y text")
            #expect(answer(await client.send("GET", "/")) == "GET / - ")
        }
    }

    @Test(
        "A request that two programs could read differently is refused",
        arguments: [
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b", "GET / HTTP/1.1\r\nContent-Length: 1\r\ncontent-length: 2",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked", "GET / HTTP/1.1\r\nContent-Length: -1",
            "GET / HTTP/1.1\r\nContent-Length: +1", "GET / HTTP/1.1\r\nHost : a", "GET / HTTP/1.1\r\n folded: a",
            "GET / HTTP/1.1\r\nno colon", "GET http://a/ HTTP/1.1", "GET / HTTP/2", "GET  / HTTP/1.1", "GET /",
            "\u{16}\u{3}",
        ])
    func refusesAmbiguous(head: String) async throws {
        try await withEcho { client in
            #expect(await client.send(raw: "\(head)\r\n\r\n").hasPrefix("HTTP/1.1 400"))
        }
    }

    @Test("Headers and bodies above their limits are refused")
    func limitsSizes() async throws {
        try await withEcho(LocalServer.Limits(head: 1_024, body: 100)) { client in
            #expect(await client.send("POST", "/", body: String(repeating: "x", count: 100)).hasPrefix("HTTP/1.1 200"))
            for length in ["101", "99999999999999999999"] {
                let head = "POST / HTTP/1.1\r\nContent-Length: \(length)\r\n\r\n"
                #expect(await client.send(raw: head).hasPrefix("HTTP/1.1 413"))
            }
            // More than the limit, without an end.
            let head = "GET / HTTP/1.1\r\nX: " + String(repeating: "x", count: 1_100)
            #expect(await client.send(raw: head, endsRequest: true).hasPrefix("HTTP/1.1 431"))
        }
    }

    @Test("A request that doesn't arrive is given up")
    func limitsTime() async throws {
        try await withEcho(LocalServer.Limits(time: .milliseconds(1))) { client in
            #expect(await client.send(raw: "GET / HTTP/1.1\r\n").hasPrefix("HTTP/1.1 408"))
        }
    }

    @Test("A connection above the limit is closed, and one that ends makes room for another")
    func limitsConnections() async throws {
        let (gates, gate) = AsyncStream.makeStream(of: Void.self)
        let (starts, start) = AsyncStream.makeStream(of: Void.self)
        try await withServer { ready in
            try await LocalServer(port: 0, limits: LocalServer.Limits(connections: 1)) { request, _ in
                if request.path == "/wait" {
                    start.yield()
                    for await _ in gates { break }
                }
                return .text("answer")
            }.run(onReady: ready)
        } _: { port in
            let client = RawClient(port: port)
            async let first = client.send("GET", "/wait")
            for await _ in starts { break }
            #expect(await client.send("GET", "/") == "")
            gate.yield()
            #expect(answer(await first) == "answer")
            // The server may still be closing the first connection.
            var second = ""
            while second.isEmpty { second = await client.send("GET", "/") }
            #expect(answer(second) == "answer")
        }
    }

    @Test("A port in use is reported with advice")
    func reportsPort() async throws {
        try await withEcho { client in
            await #expect(throws: PortProblem.self) {
                try await LocalServer(port: client.port) { _, _ in .text("") }.run { _ in }
            }
        }
    }
}
