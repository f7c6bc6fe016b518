import Sluice
import Testing

@testable import SluiceHTTP

@Suite("Hostile responses", .serialized)
struct HostileResponseTests {
    private func response(to response: String) async throws -> HTTPResponse {
        let server = try Server(respondingOnce: response)
        return try await openClient().send(HTTPRequest(url: server.url, body: [1]))
    }

    @Test("an endless body is read up to the limit, then the connection is closed", arguments: [true, false])
    func endlessBodyIsCut(chunked: Bool) async throws {
        let closed = Arrivals<Bool>()
        let server = try Server { connection in
            _ = try connection.readRequest()
            try connection.write("HTTP/1.1 200 OK\r\n" + (chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n"))
            let piece = String(repeating: "x", count: 65_536)
            defer { closed.add(true) }
            try connection.flood(Array((chunked ? "10000\r\n\(piece)\r\n" : piece).utf8))
        }
        let response = try await openClient().send(HTTPRequest(url: server.url, body: [1]))
        #expect(response.status == 200)
        #expect(response.body == [UInt8](repeating: UInt8(ascii: "x"), count: HTTPResponse.bodyLimit))
        #expect(!response.isComplete)
        #expect(try await closed.next())
    }

    @Test("a body of exactly the limit is complete, a longer one isn't", arguments: [0, 1])
    func bodyOfExactLimitIsComplete(more: Int) async throws {
        let count = HTTPResponse.bodyLimit + more
        let response = try await response(
            to: "HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n" + String(repeating: "x", count: count))
        #expect(response.body.count == HTTPResponse.bodyLimit)
        #expect(response.isComplete == (more == 0))
    }

    @Test("a length of exabytes reserves no memory", .failsOnFoundationNetworking("it ends the process"))
    func hugeLengthReservesNoMemory() async throws {
        let server = try Server(respondingOnce: "HTTP/1.1 500 Bad\r\nContent-Length: 9223372036854775807\r\n\r\nx")
        #expect(
            try await openTransport(to: server.url).send(.small)
                == .all(.retry(after: nil, reason: "the server could not accept the events (HTTP 500)"), status: 500))
    }

    #if !canImport(Darwin)
        @Test("a head of up to 64 KiB is read", arguments: [(600, true), (660, false)])
        func headLimitIs64KiB(lines: Int, isRead: Bool) async throws {
            let line = "X-Line: " + String(repeating: "x", count: 90) + "\r\n"
            let server = try Server(
                responding: "HTTP/1.1 200 OK\r\n" + String(repeating: line, count: lines) + "Content-Length: 0\r\n\r\n")
            let client = try openClient()
            if isRead {
                #expect(try await client.send(HTTPRequest(url: server.url, body: [1])).headers.count == lines + 1)
            } else {
                let error = await #expect(throws: SluiceError.self) {
                    try await client.send(HTTPRequest(url: server.url, body: [1]))
                }
                #expect(error?.message == "the HTTP request failed: the response's head is too long")
            }
        }

        @Test(
            "a body's length may be repeated", arguments: ["2\r\nContent-Length: 2", "2, 2", "2\r\nContent-Length: 02"])
        func lengthMayBeRepeated(lengths: String) async throws {
            let server = try Server(responding: "HTTP/1.1 200 OK\r\nContent-Length: \(lengths)\r\n\r\n{}")
            let client = try openClient()
            #expect(try await client.send(HTTPRequest(url: server.url, body: [1])).body == Array("{}".utf8))
        }
    #endif

    @Test("interim responses are skipped", arguments: [0, 1, 3])
    func interimResponsesAreSkipped(count: Int) async throws {
        let interim = "HTTP/1.1 100 Continue\r\nX-Interim: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n"
        let response = try await response(
            to: String(repeating: interim, count: count) + "HTTP/1.1 503 Busy\r\nRetry-After: 9\r\n\r\nbusy")
        #expect(response.status == 503)
        #expect(response.headers.map(\.name) == ["Retry-After"])
        #expect(response.verdict == .retry(after: .seconds(9)))
        #expect(String(decoding: response.body, as: UTF8.self) == "busy")
    }

    @Test(
        "trailers are dropped, even if they look like a head",
        .failsOnFoundationNetworking("it ends the process after a trailer"))
    func trailersAreDropped() async throws {
        let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Head: 1\r\n\r\n2\r\n{}\r\n0\r\n"
        let response = try await response(to: chunks + "X-Trailer: 1\r\nX-Status: HTTP/1.1 500 Bad\r\n\r\n")
        #expect(response.status == 200)
        #expect(response.headers.map(\.name) == ["Transfer-Encoding", "X-Head"])
        #expect(String(decoding: response.body, as: UTF8.self) == "{}")
    }

    @Test(
        "odd headers are kept, invalid ones are skipped",
        .failsOnFoundationNetworking("it refuses a header without a name"))
    func oddHeadersAreKeptOrSkipped() async throws {
        let response = try await response(
            to: """
                HTTP/1.0 207 \r
                X-Twice: 1\r
                x-twice:2  \t\r
                X-Empty:\r
                X-Colons: a:b:c\r
                : nameless\r
                X-UTF8: é\r
                X-Last:last\r
                \r
                {}
                """)
        #expect(response.status == 207)
        #expect(response.headers.map(\.name) == ["X-Twice", "x-twice", "X-Empty", "X-Colons", "X-UTF8", "X-Last"])
        #expect(response.headers.map(\.value) == ["1", "2", "", "a:b:c", "é", "last"])
        #expect(response.header("X-TWICE") == "1")
        #expect(response.isComplete)
        #expect("\(response)" == "HTTP 207 with 6 headers and 2 bytes")
    }

    @Test("a refusal before the end of the request's body is read", arguments: [413, 401, 503])
    func earlyRefusalIsRead(status: Int) async throws {
        let server = try Server { connection in
            try connection.readBeginning()
            try connection.write("HTTP/1.1 \(status) No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            try connection.endWriting()
            try connection.waitForClose()
        }
        let verdicts = try await openTransport(to: server.url).send(.large)
        let response = HTTPResponse(status: status)
        #expect(verdicts == Verdicts.all(response.verdict).explained(by: response))
    }

    @Test("a refusal with an incomplete body is read", arguments: [true, false])
    func incompleteRefusalIsRead(hanging: Bool) async throws {
        let server = try Server { connection in
            _ = try connection.readRequest()
            try connection.write("HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 9\r\n\r\nbusy")
            if hanging { try connection.waitForClose() }
        }
        // Long enough for a slow machine to read the head before.
        let timeouts = HTTPTimeouts(connect: .seconds(3), total: .seconds(3))
        let verdicts = try await openTransport(to: server.url, timeouts: timeouts).send(.small)
        let reason = "the server could not accept the events (HTTP 503)"
        #expect(verdicts == .all(.retry(after: .seconds(7), reason: reason), status: 503))
    }
}
