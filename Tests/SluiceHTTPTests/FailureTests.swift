import Sluice
import Testing

@testable import SluiceHTTP

@Suite("What counts as no answer", .timeLimit(.minutes(10)))
struct FailureTests {
    /// - Returns: the message of the error that a send throws.
    @discardableResult
    private func failure(
        to url: String, _ batch: Batch = .small, deadlines: HTTPDeadlines = HTTPDeadlines(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let transport = try openTransport(to: url + "?secret", headers: ["X-Key": "secret"], deadlines: deadlines)
        let error = await #expect(throws: SluiceError.self, sourceLocation: sourceLocation) {
            try await transport.send(batch)
        }
        #expect(error?.code == .inputOutput, sourceLocation: sourceLocation)
        let message = error?.message ?? ""
        #expect(message.hasPrefix("the HTTP request failed: "), sourceLocation: sourceLocation)
        #expect(!message.contains("secret"), sourceLocation: sourceLocation)
        return message
    }

    @Test("nobody listens")
    func refused() async throws {
        try await failure(to: "http://127.0.0.1:\(Socket.unusedPort())/")
    }

    @Test("nobody knows the host")
    func unknownHost() async throws {
        Server.avoidProxies()
        // A name server that is out of reach is no answer either; the deadline then ends the wait for it.
        try await failure(
            to: "http://nobody.invalid/", deadlines: HTTPDeadlines(connect: .seconds(5), total: .seconds(5)))
    }

    @Test("a server that closes before it answers", arguments: [true, false])
    func closes(afterReading: Bool) async throws {
        let server = try Server { connection in
            if afterReading { _ = try connection.readRequest() } else { try connection.readBeginning() }
        }
        try await failure(to: server.url)
    }

    @Test("a server that resets the connection in mid body")
    func resets() async throws {
        let server = try Server { connection in
            try connection.readBeginning()
            try connection.reset()
        }
        try await failure(to: server.url, .large)
    }

    @Test(
        "an answer of 2xx that breaks off",
        arguments: [
            "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", "HTTP/1.1 200 OK\r\nContent-Le",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n1234",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n123",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n12345\r\n0\r\n\r\n",
        ])
    func breaksOff(answer: String) async throws {
        let server = try Server { connection in
            _ = try connection.readRequest()
            try connection.write(answer)
        }
        try await failure(to: server.url)
    }

    @Test(
        "an answer that is no HTTP",
        arguments: [
            "\r\n\r\n", "hello\r\n\r\n", "SSH-2.0-OpenSSH\r\n", "200 OK\r\n\r\n", "HTTP/1.1\r\n\r\n",
            "HTTP/1.1 OK 200\r\n\r\n", "HTTP/1.1 2OO OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 -200 OK\r\n\r\n",
            "HTTP/1.1 099 Odd\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n", "HTTP/x 200 OK\r\n\r\n",
            "HTTP/x 500 Bad\r\n\r\n", "HTTP/\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
            "HTTP 200 OK\r\n\r\n", "HTTP/1.1\t200 OK\r\n\r\n", "\u{0}\u{1}\u{2}\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        ])
    func garbage(answer: String) async throws {
        let server = try Server { connection in
            _ = try connection.readRequest()
            try connection.write(answer)
        }
        try await failure(to: server.url)
    }

    @Test("a server without TLS behind an https URL")
    func noTLS() async throws {
        let server = try Server { connection in
            try connection.readBeginning()
            try connection.write(HTTPAnswer.ok)
            try connection.waitForClose()
        }
        try await failure(to: server.url.replacing("http:", with: "https:"))
        #expect(server.received.all.isEmpty)
    }

    @Test("a server that never answers, from the connection on, is left at the deadline", arguments: [true, false])
    func neverAnswers(reading: Bool) async throws {
        let closed = Arrivals<Bool>()
        let server = try Server { connection in
            if reading { _ = try connection.readRequest() }
            try connection.waitForClose()
            closed.add(true)
        }
        try await failure(to: server.url, deadlines: .short)
        #expect(try await closed.next())
    }

    @Test("an answer that comes byte by byte is whole")
    func bytewise() async throws {
        let server = try Server { connection in
            _ = try connection.readRequest()
            for byte in Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n".utf8) {
                try connection.write([byte])
            }
            try connection.waitForClose()
        }
        #expect(try await openTransport(to: server.url).send(.small) == .all(.accepted))
    }

    @Test("an answer that never ends, a byte at a time, is left at the deadline", arguments: ["HTTP/1.1 200 O", ""])
    func dribbles(beginning: String) async throws {
        let closed = Arrivals<Bool>()
        let server = try Server { connection in
            _ = try connection.readRequest()
            try connection.write(beginning.isEmpty ? "HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n" : beginning)
            while try !connection.isClosedByClient(within: 5) { try connection.write("O") }
            closed.add(true)
        }
        try await failure(to: server.url, deadlines: .short)
        #expect(try await closed.next())
    }

    @Test("a transport that has met all of that sends on")
    func recovers() async throws {
        let server = try Server { connection in
            _ = try connection.readRequest()
            switch connection.number {
            case 0: try connection.reset()
            case 1: try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n1")
            case 2: try connection.write("nonsense\r\n")
            default: try connection.write(HTTPAnswer.ok)
            }
        }
        let transport = try openTransport(to: server.url)
        for _ in 0..<3 {
            await #expect(throws: SluiceError.self) { try await transport.send(.small) }
        }
        #expect(try await transport.send(.small) == .all(.accepted))
        #expect(server.received.all.map(\.text) == Array(repeating: #"[{"n":1}]"#, count: 4))
    }
}
