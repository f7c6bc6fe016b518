import Sluice
import Testing

@testable import SluiceHTTP

@Suite("Framing of responses", .serialized, .ownThread)
struct FramingTests {
    private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    #if !canImport(Darwin)
        /// The beginning of a response, a piece that follows until the client closes, and the reasons for which it fails.
        static let endless: [(beginning: String, piece: String, reasons: [String])] =
            [
                ("2\r\n{}\r\n0\r\n", "X-Trailer: 1\r\n"), ("2\r\n{}\r\n0\r\n", "xxxxxxxxxxxxxxxx"),
                ("2\r\n{}\r\n0;", "x"), ("2;", "x=y;"), ("", "1;x\r\ny\r\n"),
                ("", "00000000000000000000000000000000"),
            ].map { beginning, piece in
                let reasons = [
                    "the response's chunk extensions or trailers are too long", "the response's body is too long",
                    "Failure when receiving data from the peer",
                ]
                return (chunked + beginning, piece, reasons)
            }
            + [
                ("", "HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n", ["the response's head is too long"]),
                (
                    "HTTP/1.1 200 OK\r\nX: ", "x",
                    ["a line of the response's head is too long, or the system is out of memory"]
                ),
            ]
            + ["hello\r\n\r\n", "SSH-2.0-OpenSSH\r\n", "\u{0}\u{1}\r\n"].map { ($0, $0, ["the response isn't HTTP"]) }

        @Test("an endless response fails with a plain reason, and the connection is closed", arguments: endless)
        func endlessResponseFails(beginning: String, piece: String, reasons: [String]) async throws {
            let closed = Arrivals<Bool>()
            let server = try Server { connection in
                _ = try connection.readRequest()
                try connection.write(beginning)
                let pieces = String(repeating: piece, count: 16_384 / piece.utf8.count + 1)
                do {
                    while true { try connection.write(pieces) }
                } catch {
                    closed.add(true)
                }
            }
            let transport = try openTransport(to: server.url, timeouts: .long)
            let error = await #expect(throws: SluiceError.self) { try await transport.send(.small) }
            #expect(try await closed.next())
            let messages = reasons.map { "the HTTP request failed: \($0) (127.0.0.1:\(server.port))" }
            #expect(messages.contains(error?.message ?? ""), "\(error?.message ?? "")")
        }
    #endif

    @Test(
        "a chunked body is read without its framing, also byte by byte",
        .failsOnFoundationNetworking("it ends the process after a trailer"),
        arguments: [
            "5\r\nhello\r\n0\r\n\r\n", "5;name=value;other\r\nhello\r\n0;last\r\nX-Trailer: 1\r\nX-Other: 2\r\n\r\n",
            "1\r\nh\r\n4\r\nello\r\n0\r\n\r\n", "05\r\nhello\r\n000\r\n\r\n", "0005  \r\nhello\r\n0\r\n\r\n",
            "2\r\nhe\r\n0003\r\nllo\r\n0\r\n\r\n",
        ])
    func chunkedBodyIsRead(chunks: String) async throws {
        let response = Array(("HTTP/1.1 200 OK\r\nTRANSFER-encoding:  Chunked\r\n\r\n" + chunks).utf8)
        for pieces in [[response], response.map { [$0] }] {
            let server = try Server { connection in
                _ = try connection.readRequest()
                for piece in pieces { try connection.write(piece) }
                try connection.waitForClose()
            }
            let response = try await openClient().send(HTTPRequest(url: server.url, body: [1]))
            #expect(String(decoding: response.body, as: UTF8.self) == "hello")
            #expect(response.isComplete)
        }
    }

    @Test("a chunked body in upper case, of several buffers, is read completely")
    func largeChunksAreRead() async throws {
        let body = (0..<HTTPResponse.bodyLimit).map { UInt8(truncatingIfNeeded: $0 % 251) }
        let server = try Server { connection in
            _ = try connection.readRequest()
            try connection.write(Self.chunked)
            for start in stride(from: 0, to: body.count, by: 0xABC) {
                let chunk = body[start..<min(start + 0xABC, body.count)]
                let size = String(chunk.count, radix: 16, uppercase: true)
                try connection.write(Array("\(size)\r\n".utf8) + chunk + Array("\r\n".utf8))
            }
            try connection.write("0\r\n\r\n")
            try connection.waitForClose()
        }
        let response = try await openClient().send(HTTPRequest(url: server.url, body: [1]))
        #expect(response.body == body)
        #expect(response.isComplete)
    }

    @Test(
        "a kept connection has several chunked responses",
        .failsOnFoundationNetworking("it ends the process after a trailer"))
    func chunkedResponsesShareConnection() async throws {
        let server = try Server(responding: Self.chunked + "2\r\n{}\r\n0\r\nX-Trailer: 1\r\n\r\n")
        let transport = try openTransport(to: server.url)
        for _ in 0..<5 { #expect(try await transport.send(.small) == .all(.accepted, status: 200)) }
        #expect(server.received.all.map(\.connection) == [0, 0, 0, 0, 0])
    }

    #if !canImport(Darwin)
        @Test(
            "an invalid Content-Length is a failure, because a truncated body would go unnoticed",
            arguments: [
                "99999999999999999999999", "9223372036854775808", "-1", "2x", "", "2, 3", "2,", "5, 2",
                "5\r\nContent-Length: 2", "2\r\nX: 1\r\ncontent-length:3",
            ])
        func invalidLengthFails(length: String) async throws {
            let server = try Server(respondingOnce: "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n{}")
            let transport = try openTransport(to: server.url)
            let error = await #expect(throws: SluiceError.self) { try await transport.send(.small) }
            let reasons = ["the response's Content-Length is invalid", "Weird server reply"]
            #expect(
                reasons.map { "the HTTP request failed: \($0) (127.0.0.1:\(server.port))" }.contains(error?.message))
        }
    #endif

    @Test(
        "a success before the whole request was sent is a failure",
        .failsOnFoundationNetworking("it reports a success"),
        arguments: [
            "Content-Length: 2\r\n\r\n{}", "Content-Length: 0\r\n\r\n",
            "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            // Longer than the part of a body that is read.
            "Content-Length: 100000\r\n\r\n" + String(repeating: "x", count: 100_000),
        ])
    func earlySuccessFails(rest: String) async throws {
        let server = try Server { connection in
            try connection.readBeginning()
            try connection.write("HTTP/1.1 200 OK\r\n" + rest)
            try connection.waitForClose()
        }
        let transport = try openTransport(to: server.url)
        let error = await #expect(throws: SluiceError.self) { try await transport.send(.large) }
        #if !canImport(Darwin)
            let reason = "the server responded before it had received the whole request"
            #expect(error?.message == "the HTTP request failed: \(reason) (127.0.0.1:\(server.port))")
        #endif
    }

    @Test("a head before the end of the request is no failure if the response ends later")
    func earlyHeadIsNoFailure() async throws {
        let server = try Server { connection in
            try connection.readBeginning()
            try connection.write(Self.chunked + "1\r\n{\r\n")
            _ = try connection.readRest(of: 15_872_512)
            try connection.write("1\r\n}\r\n0\r\n\r\n")
            try connection.waitForClose()
        }
        #expect(try await openTransport(to: server.url).send(.large) == .all(.accepted, status: 200))
    }

    // Around 64 KiB, above which libcurl sends a body in parts, and around the size of a part.
    @Test(
        "a body of any size is sent completely",
        arguments: [1, 1_000, 65_535, 65_536, 65_537, 261_900, 262_143, 262_144, 262_145, 3_000_000])
    func bodyOfAnySizeIsSent(count: Int) async throws {
        let server = try Server(responding: HTTPResponse.ok)
        let body = (0..<count).map { UInt8(truncatingIfNeeded: $0 % 253) }
        let client = try openClient()
        for _ in 0..<2 {
            #expect(try await client.send(HTTPRequest(url: server.url, body: body)).status == 200)
        }
        #expect(server.received.all.map(\.body) == [body, body])
        #expect(server.received.all.allSatisfy { $0.values("Expect").isEmpty })
        #expect(server.connectionCount == 1)
    }
}
