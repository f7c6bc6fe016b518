import Sluice
import Testing

@testable import SluiceHTTP

@Suite("Answers that would like to do harm", .timeLimit(.minutes(10)))
struct HostileAnswerTests {
    private func answer(to answer: String) async throws -> HTTPAnswer {
        let server = try Server { connection in
            _ = try connection.readRequest()
            try connection.write(answer)
        }
        return try await openClient().send(HTTPRequest(url: server.url, body: [1]))
    }

    @Test("a body without end is read up to the limit, and the connection closed", arguments: [true, false])
    func endlessBody(chunked: Bool) async throws {
        let closed = Arrivals<Bool>()
        let server = try Server { connection in
            _ = try connection.readRequest()
            try connection.write("HTTP/1.1 200 OK\r\n" + (chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n"))
            let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 65_536)
            do {
                while true {
                    if chunked { try connection.write("10000\r\n") }
                    try connection.write(piece + (chunked ? [13, 10] : []))
                }
            } catch {
                closed.add(true)
            }
        }
        let answer = try await openClient().send(HTTPRequest(url: server.url, body: [1]))
        #expect(answer.status == 200)
        #expect(answer.body == [UInt8](repeating: UInt8(ascii: "x"), count: HTTPAnswer.bodyLimit))
        #expect(!answer.isWhole)
        #expect(try await closed.next())
    }

    @Test("a body of exactly the limit is whole, one byte more is not", arguments: [0, 1])
    func limit(more: Int) async throws {
        let count = HTTPAnswer.bodyLimit + more
        let answer = try await answer(
            to: "HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n" + String(repeating: "x", count: count))
        #expect(answer.body.count == HTTPAnswer.bodyLimit)
        #expect(answer.isWhole == (more == 0))
    }

    @Test("a length of exabytes reserves no memory for it")
    func hugeLength() async throws {
        let server = try Server { connection in
            _ = try connection.readRequest()
            try connection.write("HTTP/1.1 500 Bad\r\nContent-Length: 9223372036854775807\r\n\r\nx")
        }
        #expect(
            try await openTransport(to: server.url).send(.small)
                == .all(.retry(after: nil, reason: "the server could not take the events (HTTP 500)")))
    }

    @Test(
        "a head that is too long, or never ends, is refused and the connection closed",
        arguments: [
            "X-Many: 1\r\n", "X-Long: " + String(repeating: "x", count: 8_000) + "\r\n", "xxxxxxxxxxxxxxxxxxxx",
        ])
    func headerBomb(piece: String) async throws {
        let closed = Arrivals<Bool>()
        let server = try Server { connection in
            _ = try connection.readRequest()
            try connection.write("HTTP/1.1 200 OK\r\n")
            let pieces = String(repeating: piece, count: 8)
            do {
                while true { try connection.write(pieces) }
            } catch {
                closed.add(true)
            }
        }
        let transport = try openTransport(to: server.url)
        let error = await #expect(throws: SluiceError.self) { try await transport.send(.small) }
        #expect(error?.code == .inputOutput)
        #expect(try await closed.next())
    }

    #if !canImport(Darwin)
        @Test("a head of up to 64 KiB is read", arguments: [(600, true), (660, false)])
        func headLimit(lines: Int, isRead: Bool) async throws {
            let line = "X-Line: " + String(repeating: "x", count: 90) + "\r\n"
            let server = try Server(
                answering: "HTTP/1.1 200 OK\r\n" + String(repeating: line, count: lines) + "Content-Length: 0\r\n\r\n")
            let client = try openClient()
            if isRead {
                #expect(try await client.send(HTTPRequest(url: server.url, body: [1])).headers.count == lines + 1)
            } else {
                let error = await #expect(throws: SluiceError.self) {
                    try await client.send(HTTPRequest(url: server.url, body: [1]))
                }
                #expect(error?.message == "the HTTP request failed: the answer's head is too long")
            }
        }
    #endif

    @Test("interim answers are passed over, whether asked for or not", arguments: [0, 1, 3])
    func interim(count: Int) async throws {
        let interim = "HTTP/1.1 100 Continue\r\nX-Interim: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n"
        let answer = try await answer(
            to: String(repeating: interim, count: count) + "HTTP/1.1 503 Busy\r\nRetry-After: 9\r\n\r\nbusy")
        #expect(answer.status == 503)
        #expect(answer.headers.map(\.name) == ["Retry-After"])
        #expect(answer.verdict == .retry(after: .seconds(9)))
        #expect(String(decoding: answer.body, as: UTF8.self) == "busy")
    }

    @Test("interim answers without end are left at the deadline")
    func endlessInterim() async throws {
        let server = try Server { connection in
            _ = try connection.readRequest()
            while try !connection.isClosedByClient(within: 1) {
                try connection.write("HTTP/1.1 102 Processing\r\nX: \(String(repeating: "x", count: 999))\r\n\r\n")
            }
        }
        let transport = try openTransport(to: server.url, deadlines: .short)
        await #expect(throws: SluiceError.self) { try await transport.send(.small) }
    }

    @Test("an interim answer with nothing behind it is not taken for an answer", arguments: [100, 102, 103])
    func onlyInterim(status: Int) async throws {
        let server = try Server { connection in
            _ = try connection.readRequest()
            try connection.write("HTTP/1.1 \(status) Wait\r\n\r\n")
        }
        let transport = try openTransport(to: server.url)
        await #expect(throws: SluiceError.self) { try await transport.send(.small) }
    }

    @Test("a switch of protocols that nobody asked for is no acceptance")
    func switches() async throws {
        let server = try Server { connection in
            _ = try connection.readRequest()
            try connection.write("HTTP/1.1 101 Switching\r\nUpgrade: tls\r\n\r\n" + HTTPAnswer.ok)
        }
        let transport = try openTransport(to: server.url)
        do {
            #expect(
                try await transport.send(.small)
                    == .all(.retry(after: nil, reason: "the server could not take the events (HTTP 101)")))
        } catch let error as SluiceError {
            #expect(error.code == .inputOutput)
        }
    }

    @Test("trailers are read and dropped, even those that look like a head")
    func trailers() async throws {
        let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Head: 1\r\n\r\n2\r\n{}\r\n0\r\n"
        let answer = try await answer(to: chunks + "X-Trailer: 1\r\nX-Status: HTTP/1.1 500 Bad\r\n\r\n")
        #expect(answer.status == 200)
        #expect(answer.headers.map(\.name) == ["Transfer-Encoding", "X-Head"])
        #expect(String(decoding: answer.body, as: UTF8.self) == "{}")
    }

    @Test("odd headers are kept or left out, and hurt nobody")
    func oddHeaders() async throws {
        let answer = try await answer(
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
        #expect(answer.status == 207)
        #expect(answer.headers.map(\.name) == ["X-Twice", "x-twice", "X-Empty", "X-Colons", "X-UTF8", "X-Last"])
        #expect(answer.headers.map(\.value) == ["1", "2", "", "a:b:c", "é", "last"])
        #expect(answer.header("X-TWICE") == "1")
        #expect(answer.isWhole)
        #expect("\(answer)" == "HTTP 207 with 6 headers and 2 bytes")
    }

    @Test("a refusal that comes before the body was read is heard", arguments: [413, 401, 503])
    func earlyRefusal(status: Int) async throws {
        let server = try Server { connection in
            try connection.readBeginning()
            try connection.write("HTTP/1.1 \(status) No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            try connection.endWriting()
            try connection.waitForClose()
        }
        let verdicts = try await openTransport(to: server.url).send(.large)
        let answer = HTTPAnswer(status: status)
        #expect(verdicts == Verdicts.all(answer.verdict).explained(by: answer))
    }

    @Test("a refusal whose body breaks off, or hangs, is heard", arguments: [true, false])
    func refusalBreaksOff(hanging: Bool) async throws {
        let server = try Server { connection in
            _ = try connection.readRequest()
            try connection.write("HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 9\r\n\r\nbusy")
            if hanging { try connection.waitForClose() }
        }
        let verdicts = try await openTransport(to: server.url, deadlines: .short).send(.small)
        #expect(verdicts == .all(.retry(after: .seconds(7), reason: "the server could not take the events (HTTP 503)")))
    }
}
