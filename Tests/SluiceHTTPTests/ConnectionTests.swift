import Dispatch
import Sluice
import Testing

@testable import SluiceHTTP

@Suite("Connections", .timeLimit(.minutes(10)))
struct ConnectionTests {
    @Test("sends that follow each other share a connection")
    func reuse() async throws {
        let server = try Server(answering: HTTPAnswer.ok)
        let transport = try openTransport(to: server.url)
        for _ in 0..<5 {
            #expect(try await transport.send(.small) == .all(.accepted))
        }
        #expect(server.received.all.map(\.connection) == [0, 0, 0, 0, 0])
    }

    @Test(
        "a server that wants no reuse gets none",
        arguments: ["HTTP/1.1 200 OK\r\nConnection: close", "HTTP/1.0 200 OK"])
    func noReuse(head: String) async throws {
        let server = try Server { connection in
            _ = try connection.readRequest()
            try connection.write(head + "\r\nContent-Length: 2\r\n\r\n{}")
            try connection.waitForClose()
        }
        let transport = try openTransport(to: server.url)
        for _ in 0..<3 {
            #expect(try await transport.send(.small) == .all(.accepted))
        }
        #expect(server.received.all.map(\.connection) == [0, 1, 2])
    }

    @Test("a kept connection that the server has closed meanwhile costs nothing", arguments: [false, true])
    func stale(byReset: Bool) async throws {
        let answerIsRead = DispatchSemaphore(value: 0)
        let closed = Arrivals<Bool>()
        let server = try Server { connection in
            _ = try connection.readRequest()
            try connection.write(HTTPAnswer.ok)
            if connection.number > 0 { return try connection.waitForClose() }
            answerIsRead.wait()
            if byReset { try connection.reset() } else { connection.end() }
            closed.add(true)
        }
        let transport = try openTransport(to: server.url)
        #expect(try await transport.send(.small) == .all(.accepted))
        answerIsRead.signal()
        _ = try await closed.next()
        #expect(try await transport.send(.small) == .all(.accepted))
        #expect(server.received.all.map(\.connection) == [0, 1])
    }

    @Test("a kept connection that dies under the next request is replaced once")
    func diesUnderRequest() async throws {
        let server = try Server { connection in
            _ = try connection.readRequest()
            try connection.write(HTTPAnswer.ok)
            // The second request on the first connection is read, and never answered.
            _ = try connection.readRequest()
            if connection.number > 0 { try connection.write(HTTPAnswer.ok) }
        }
        let transport = try openTransport(to: server.url)
        #expect(try await transport.send(.small) == .all(.accepted))
        #expect(try await transport.send(.small) == .all(.accepted))
        #expect(server.received.all.map(\.connection) == [0, 0, 1])
    }

    @Test("bytes behind an answer are not taken for the next one")
    func smuggled() async throws {
        let server = try Server { connection in
            while try connection.readRequest() != nil {
                try connection.write("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n" + HTTPAnswer.ok)
            }
        }
        let transport = try openTransport(to: server.url)
        for _ in 0..<3 {
            #expect(
                try await transport.send(.small)
                    == .all(.retry(after: nil, reason: "the server could not take the events (HTTP 503)")))
        }
    }

    @Test("many sends at once all come back, each with its own answer")
    func concurrent() async throws {
        let server = try Server { connection in
            while let request = try connection.readRequest() {
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(request.body.count)\r\n\r\n\(request.text)")
            }
        }
        let client = try openClient()
        let url = server.url
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let body = Array("request \(number)".utf8)
                    let answer = try await client.send(HTTPRequest(url: url, body: body))
                    return answer.status == 200 && answer.body == body && answer.isWhole
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
        #expect(Set(server.received.all.map(\.text)) == Set((0..<200).map { "request \($0)" }))
        #expect(server.received.all.count == 200)
    }

    @Test("clients that come and go leave nothing behind that a later one would meet")
    func manyClients() async throws {
        let server = try Server(answering: HTTPAnswer.ok)
        for _ in 0..<50 {
            #expect(try await openTransport(to: server.url).send(.small) == .all(.accepted))
        }
        #expect(server.connectionCount == 50)
    }
}
