import HTTPTestSupport
import Sluice
import SluiceTesting
import Testing

@testable import SluiceHTTP

@Suite("Requests on the wire", .serialized)
struct RequestTests {
    @Test(
        "a body contains the events' lines in order",
        arguments: [
            ("application/json", #"[{"n":1},{"n":2,"s":"é\n"},{"n":3}]"#),
            ("application/x-ndjson", #"{"n":1}"# + "\n" + #"{"n":2,"s":"é\n"}"# + "\n" + #"{"n":3}"# + "\n"),
        ])
    func bodyHasLines(type: String, body: String) async throws {
        let server = try Server(responding: HTTPResponse.ok)
        let format = type == "application/json" ? HTTPFormat.jsonArray : .ndjson
        let transport = try openTransport(to: server.url, format: format)
        let verdicts = try await transport.send(.of(#"{"n":1}"#, #"{"n":2,"s":"é\n"}"#, #"{"n":3}"#))
        let request = try await server.received.next()
        #expect(verdicts == .all(.accepted, status: 200))
        #expect(request.text == body)
        #expect(request.values("Content-Type") == [type])
        #expect(request.values("Content-Length") == ["\(request.body.count)"])
    }

    #if !canImport(Darwin)
        @Test("the head consists of exactly these lines")
        func headIsExact() async throws {
            let server = try Server(responding: HTTPResponse.ok)
            let transport = try openTransport(to: server.url + "?a=%20b", headers: ["X-B": "2", "X-A": "1"])
            _ = try await transport.send(.small)
            let request = try await server.received.next()
            let sentAt = "X-Sent-At: "
            #expect(request.header("X-Sent-At").flatMap { Timestamp($0) } != nil)
            #expect(
                request.lines.filter { !$0.hasPrefix(sentAt) } == [
                    "POST /events?a=%20b HTTP/1.1", "Host: 127.0.0.1:\(server.port)", "Accept: */*",
                    "Content-Type: application/json", "X-A: 1", "X-B: 2", "User-Agent: Sluice", "Content-Length: 9",
                    "", "",
                ])
        }
    #endif

    @Test("every request has the time of sending in a header", arguments: FormatSample.open)
    func requestHasSendTime(sample: FormatSample) async throws {
        let (client, time) = (KeepingClient(), VirtualTime())
        let transport = client.transport(sample.format, to: sample.url)
        try transport.open(in: .virtual(time))
        for _ in 0..<2 {
            _ = try await transport.send(.numbered(1))
            time.advance(by: .milliseconds(61_234))
        }
        let sent = client.requests.map { $0.header("X-Sent-At") }
        #expect(sent == ["2026-01-01T00:00:00.000Z", "2026-01-01T00:01:01.234Z"])
    }

    private struct Doubling: WireFormat {
        let limit: Int
        var maximumBodyBytes: Int { limit }
        func encode(_ batch: Batch, into request: inout HTTPRequest) {
            request.body = batch.lines() + batch.lines()
        }
    }

    @Test("a batch whose body is too long is split without a request")
    func tooLongBodyIsSplit() async throws {
        let server = try Server(responding: HTTPResponse.ok)
        let batch = Batch.of(#"{"n":1}"#, #"{"n":2}"#)
        let exact = try openTransport(to: server.url, format: HTTPFormat(Doubling(limit: 32)))
        #expect(try await exact.send(batch) == .all(.accepted, status: 200))
        let transport = try openTransport(to: server.url, format: HTTPFormat(Doubling(limit: 31)))
        #expect(try await transport.send(batch) == .all(.tooLarge()))
        #expect(server.received.all.count == 1)
    }

    @Test(
        "a header of the host arrives as it is, in place of the one of the format or the transport",
        arguments: [
            ("content-type", "application/vnd.own+json"), ("USER-AGENT", "Host/1"), ("Authorization", "Bearer t"),
            ("X-Empty", ""), ("X-!#$%&'*+-.^_`|~9", "a: b;\tc=\"d\", é 😀 (e) <f> \\g"),
        ])
    func hostHeaderArrives(name: String, value: String) async throws {
        let server = try Server(responding: HTTPResponse.ok)
        _ = try await openTransport(to: server.url, headers: [name: value]).send(.small)
        #expect(try await server.received.next().values(name) == [value])
    }

    @Test("the signature changes the request last")
    func signatureIsLast() async throws {
        let server = try Server(responding: HTTPResponse.ok)
        let transport = try openTransport(to: server.url, headers: ["X-Signed": "no"]) { request in
            request.setHeader("X-Signed", "\(request.body.count) bytes")
            request.appendQuery("a b", "é&")
        }
        _ = try await transport.send(.small)
        let request = try await server.received.next()
        #expect(request.values("X-Signed") == ["9 bytes"])
        #expect(request.lines[0] == "POST /events?a%20b=%C3%A9%26 HTTP/1.1")
    }

    @Test("a signature that throws sends nothing")
    func throwingSignatureSendsNothing() async throws {
        let server = try Server(responding: HTTPResponse.ok)
        let transport = try openTransport(to: server.url) { _ in throw SluiceError(.inputOutput, "no token") }
        let error = await #expect(throws: SluiceError.self) { try await transport.send(.small) }
        #expect(error?.message == "no token")
        #expect(server.connectionCount == 0)
    }

    #if canImport(Darwin)
        // URLSession refuses a GET with a body.
        static let methods = ["PUT", "PATCH", "POST"]
    #else
        static let methods = ["PUT", "PATCH", "GET", "POST"]
    #endif

    @Test("a format can set the method and the path", arguments: methods)
    func formatSetsMethodAndPath(method: String) async throws {
        let server = try Server(responding: HTTPResponse.ok)
        let transport = try openTransport(to: server.url, format: HTTPFormat(OwnFormat(method: method)))
        let verdicts = try await transport.send(.of("a", "b"))
        let request = try await server.received.next()
        #expect(verdicts == .each([.accepted, .rejected(reason: "200")], status: 200))
        #expect(request.lines[0] == "\(method) /events/own HTTP/1.1")
        #expect(request.text == "a;b")
    }
}

private struct OwnFormat: WireFormat {
    let method: String

    func encode(_ batch: Batch, into request: inout HTTPRequest) {
        request.method = method
        request.url += "/own"
        request.setHeader("Content-Type", "text/plain")
        request.body = Array(batch.events.map(\.bytes).joined(separator: [UInt8(ascii: ";")]))
    }

    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        .each([.accepted, .rejected(reason: "\(response.status)")])
    }
}
