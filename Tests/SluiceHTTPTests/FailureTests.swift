import HTTPTestSupport
import Sluice
import Testing

@testable import SluiceHTTP

@Suite("Failed requests", .serialized)
struct FailureTests {
    /// - Returns: The message of the error that a send throws.
    @discardableResult
    private func failure(
        to url: String, _ batch: Batch = .small, timeouts: HTTPTimeouts = HTTPTimeouts(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let transport = try openTransport(to: url + "?secret", headers: ["X-Key": "secret"], timeouts: timeouts)
        let error = await #expect(throws: SluiceError.self, sourceLocation: sourceLocation) {
            try await transport.send(batch)
        }
        #expect(error?.code == .inputOutput, sourceLocation: sourceLocation)
        let message = error?.message ?? ""
        #expect(message.hasPrefix("the HTTP request failed: "), sourceLocation: sourceLocation)
        #expect(!message.contains("secret"), sourceLocation: sourceLocation)
        return message
    }

    /// A client whose library is missing.
    private struct MissingLibrary: HTTPClient {
        func check() throws(SluiceError) { throw SluiceError(.missingLibrary, "install it") }

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            try check()
            return HTTPResponse(status: 200)
        }
    }

    @Test("a missing library doesn't stop the build: the route goes on hold, and check() throws it")
    func missingLibraryIsAHold() async throws {
        let transport = MissingLibrary().transport()
        try transport.open()
        #expect(try await transport.send(.small) == .all(.hold(reason: "install it")))
        let error = #expect(throws: SluiceError.self) { try transport.check() }
        #expect(error?.code == .missingLibrary)
        try HTTPTransport(to: "https://h").check()
    }

    @Test("a send fails if no server listens")
    func refusedConnectionFails() async throws {
        try await Socket.withUnusedPort { port in
            let message = try await failure(to: "http://127.0.0.1:\(port)/")
            #expect(message.hasSuffix(" (127.0.0.1:\(port))"))
        }
    }

    @Test("a send fails if the host is unknown")
    func unknownHostFails() async throws {
        Server.avoidProxies()
        // If no name server can be reached, the timeout ends the wait.
        try await failure(
            to: "http://nobody.invalid/", timeouts: HTTPTimeouts(connect: .seconds(5), total: .seconds(5)))
    }

    @Test(
        "an error names the host and the port, and nothing else of the URL",
        arguments: [
            ("http://h.example", "h.example:80"), ("HTTPS://h.example/a?b=c:d", "h.example:443"),
            ("https://h.example:8443?key=1", "h.example:8443"), ("http://[::1]/x", "[::1]:80"),
            ("http://[::1]:81/x:2", "[::1]:81"),
        ])
    func errorNamesPlace(url: String, place: String) {
        #expect(HTTPURL.place(in: url) == place)
    }

    @Test("a send fails if the server resets the connection in the middle of the body")
    func resetConnectionFails() async throws {
        let server = try Server { connection in
            try connection.readBeginning()
            try connection.reset()
        }
        try await failure(to: server.url, .large)
    }

    @Test(
        "an incomplete 2xx response, and one that isn't HTTP, is a failure",
        .failsOnFoundationNetworking("it ends the process if the connection ends within the head, and takes HTTP/x"),
        arguments: [
            "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", "HTTP/1.1 200 OK\r\nContent-Le",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n1234",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n123",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n12345\r\n0\r\n\r\n",
            "\r\n\r\n", "hello\r\n\r\n", "SSH-2.0-OpenSSH\r\n", "200 OK\r\n\r\n", "HTTP/1.1\r\n\r\n",
            "HTTP/1.1 OK 200\r\n\r\n", "HTTP/1.1 2OO OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 -200 OK\r\n\r\n",
            "HTTP/1.1 099 Odd\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n", "HTTP/x 200 OK\r\n\r\n",
            "HTTP/x 500 Bad\r\n\r\n", "HTTP/\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
            "HTTP 200 OK\r\n\r\n", "HTTP/1.1\t200 OK\r\n\r\n", "\u{0}\u{1}\u{2}\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        ])
    func invalidResponseFails(response: String) async throws {
        let server = try Server(respondingOnce: response)
        try await failure(to: server.url)
    }

    @Test("an https URL fails on a server without TLS")
    func missingTLSFails() async throws {
        let server = try Server { connection in
            try connection.readBeginning()
            try connection.write(HTTPResponse.ok)
            try connection.waitForClose()
        }
        try await failure(to: server.url.replacing("http:", with: "https:"))
        #expect(server.received.all.isEmpty)
    }

    @Test("a request to a server that never responds ends at the timeout", arguments: [true, false])
    func silentServerTimesOut(reading: Bool) async throws {
        let closed = Arrivals<Bool>()
        let server = try Server { connection in
            if reading { _ = try connection.readRequest() }
            try connection.waitForClose()
            closed.add(true)
        }
        try await failure(to: server.url, timeouts: .short)
        #expect(try await closed.next())
    }
}
