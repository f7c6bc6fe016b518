import Dispatch
import SluiceAsyncHTTPClient
import SluiceHTTP
import SluiceTesting
import Testing

@Suite("AsyncHTTPClient")
struct AsyncHTTPClientTests {
    private static let small = Array("[]".utf8)
    /// More than the buffers of a connection take.
    private static let large = [UInt8](repeating: 0x20, count: 16_000_000)

    private func client(_ timeout: Duration = .seconds(60)) throws -> AsyncHTTPClientAdapter {
        let client = AsyncHTTPClientAdapter(connectTimeout: timeout, totalTimeout: timeout)
        try client.open()
        return client
    }

    // MARK: The contract

    @Test(
        "the transport keeps the promises of a transport, whatever the server does",
        arguments: [RawConnection.ok, "HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n", nil])
    func contract(response: String?) async throws {
        let server = try RawServer { connection in
            while try connection.readRequest() {
                if let response { try connection.write(response) } else { try connection.waitForClose() }
            }
        }
        let client = try client(response == nil ? .seconds(1) : .seconds(60))
        try await TransportContract.check(timeout: .seconds(60)) {
            HTTPTransport(to: server.url, configuration: .init(client: client))
        }
        #expect(server.connectionCount > 0)
    }

    @Test("a request arrives as it is, and its response too")
    func requestAndResponse() async throws {
        let received = Box<String>()
        let server = try RawServer { connection in
            guard let (head, body) = try connection.readParts() else { return }
            received.value = head + String(decoding: body, as: UTF8.self)
            try connection.write(
                "HTTP/1.1 207 Mixed\r\nRetry-After: 3\r\nX: 1\r\nX: 2\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "3\r\nabc\r\n0\r\n\r\n")
        }
        let response = try await client().send(
            HTTPRequest(url: server.url + "?a=b", method: "PUT", headers: [("X-Key", "k")], body: Array("body".utf8)))
        #expect(response.status == 207)
        #expect(response.header("retry-after") == "3")
        #expect(response.headers.filter { $0.name == "X" }.map(\.value) == ["1", "2"])
        #expect(response.body == Array("abc".utf8))
        #expect(response.isComplete)
        let request = try #require(received.value)
        #expect(request.hasPrefix("PUT /events?a=b HTTP/1.1\r\n"))
        #expect(request.contains("X-Key: k\r\n"))
        #expect(request.lowercased().contains("content-length: 4\r\n"))
        #expect(request.hasSuffix("\r\n\r\nbody"))
    }

    @Test("a timeout of zero is refused when the pipeline is built")
    func timeoutOfZero() {
        #expect(throws: SluiceError.self) { try client(.zero) }
    }

    // MARK: Limits

    @Test("a body up to the limit is complete, and a longer one is cut", arguments: [0, 1])
    func bodyLimit(excess: Int) async throws {
        let count = HTTPResponse.bodyLimit + excess
        let server = try RawServer { connection in
            while try connection.readRequest() {
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n")
                try connection.write([UInt8](repeating: 1, count: count))
            }
        }
        let response = try await client().send(HTTPRequest(url: server.url, body: Self.small))
        #expect(response.body.count == HTTPResponse.bodyLimit)
        #expect(response.isComplete == (excess == 0))
    }

    @Test("cancelling the task ends a send and closes its connection", arguments: Moment.allCases)
    func cancellation(moment: Moment) async throws {
        let (reached, reach) = AsyncStream<Void>.makeStream()
        let (closed, close) = AsyncStream<Void>.makeStream()
        let server = try RawServer { connection in
            if moment == .upload { try connection.read(upTo: 16) } else { _ = try connection.readRequest() }
            if moment == .body { try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1") }
            reach.yield()
            // The upload waits for a reader, so the rest is read only after the cancellation.
            try connection.waitForClose()
            close.yield()
        }
        let client = try client()
        let body = moment == .upload ? Self.large : Self.small
        let url = server.url
        let sending = Task { try await client.send(HTTPRequest(url: url, body: body)) }
        await reached.first { true }
        sending.cancel()
        await #expect(throws: CancellationError.self) { try await sending.value }
        await closed.first { true }
    }

    enum Moment: CaseIterable { case upload, head, body }

    @Test("a task that is already cancelled sends nothing")
    func cancelledTask() async throws {
        let server = try RawServer(responding: RawConnection.ok)
        let client = try client()
        let url = server.url
        let sending = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await client.send(HTTPRequest(url: url, body: Self.small))
        }
        await #expect(throws: CancellationError.self) { try await sending.value }
        #expect(server.connectionCount == 0)
    }

    @Test("a 200 before the whole request was sent is an error")
    func earlySuccess() async throws {
        // The server doesn't read on: otherwise a busy client may send everything before it sees the response.
        let isOver = DispatchSemaphore(value: 0)
        defer { isOver.signal() }
        let server = try RawServer { connection in
            try connection.read(upTo: 16)
            try connection.write(RawConnection.ok)
            isOver.wait()
        }
        await #expect(throws: SluiceError.self) {
            try await client().send(HTTPRequest(url: server.url, body: Self.large))
        }
    }

    @Test("a refusal before the whole request was sent is returned")
    func earlyRefusal() async throws {
        let server = try RawServer { connection in
            try connection.read(upTo: 16)
            try connection.write("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
            try connection.waitForClose()
        }
        let response = try await client().send(HTTPRequest(url: server.url, body: Self.large))
        #expect(response.status == 413)
    }

    @Test("the text of an error contains no host, path or header")
    func errorsAreSilent() async throws {
        let server = try RawServer { connection in connection.end() }
        for url in [server.url, "http://127.0.0.1:1/secret", "http://secret.invalid/secret"] {
            let request = HTTPRequest(url: url, headers: [("X-Secret", "secret")], body: Self.small)
            do {
                _ = try await client().send(request)
                Issue.record("there was a response")
            } catch let error as SluiceError {
                #expect(!error.description.contains("secret") && !error.description.contains("127.0.0.1"))
                #expect(error.cause == nil)
            }
        }
    }

    @Test("a client that is released during a send completes it")
    func releasedClient() async throws {
        let server = try RawServer(responding: RawConnection.ok)
        let url = server.url
        let sendings = try (0..<20).map { _ in
            let client = try client()
            return Task { try await client.send(HTTPRequest(url: url, body: Self.small)) }
        }
        for sending in sendings {
            #expect(try await sending.value.status == 200)
        }
    }

    // MARK: Hostile servers

    @Test("no hostile server loses an event or stops delivery", arguments: Attack.all)
    func hostileServer(attack: Attack) async throws {
        let isHostile = Box<Bool>()
        isHostile.value = true
        let strangers = try RawServer(responding: RawConnection.ok)
        let other = strangers.url
        let server = try RawServer { connection in
            if attack.isOnConnection, isHostile.value == true { return try attack.act(connection, other) }
            while try connection.readRequest() {
                if isHostile.value == true { return try attack.act(connection, other) }
                try connection.write(RawConnection.ok)
            }
        }
        let time = VirtualTime()
        let store = RecordingStore()
        let pipeline = try Pipeline(environment: .virtual(time, seed: 1)) {
            store
            HTTPTransport(
                to: server.url,
                configuration: .init(
                    gzip: false, client: try client(attack.isTimed ? .milliseconds(500) : .seconds(60))))
        }
        for number in 0..<20 { pipeline.track("Event", ["number": .int(number)]) }
        await pipeline.flush()
        let ledger = pipeline.ledger.routes[0]
        let fate: Attack.Fate = ledger.delivered == 20 ? .delivered : .kept
        #expect(attack.fates.contains(fate), "\(fate): \(ledger.attempts.lastFailure ?? "no failure")")
        #expect((ledger.attempts.failed > 0) == (fate != .delivered))
        #expect(ledger.delivered + ledger.waiting == 20)

        isHostile.value = false
        // More than once: a short timeout can be over on a busy machine, and a connection can have ended unseen.
        while await !pipeline.flush().isComplete {}
        #expect(pipeline.ledger.routes[0].delivered == 20)
        #expect(strangers.connectionCount == 0)
        #expect(await pipeline.shutdown().isBalanced)
    }
}
