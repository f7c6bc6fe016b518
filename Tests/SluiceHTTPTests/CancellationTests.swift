import Dispatch
import Sluice
import SluiceMemory
import Testing

@testable import SluiceHTTP

@Suite("Cancellation", .serialized)
struct CancellationTests {
    /// When a send is cancelled.
    enum Moment: CaseIterable { case body, response, restOfResponse }

    @Test("cancelling the task ends a send and closes its connection", arguments: Moment.allCases)
    func cancellationEndsSend(moment: Moment) async throws {
        let reached = Arrivals<Bool>()
        let closed = Arrivals<Bool>()
        let isCancelled = DispatchSemaphore(value: 0)
        let server = try Server { connection in
            if moment == .body { try connection.readBeginning() } else { _ = try connection.readRequest() }
            if moment == .restOfResponse { try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1") }
            reached.add(true)
            // The body doesn't fit into the connection's buffers and waits for a reader.
            isCancelled.wait()
            try connection.waitForClose()
            closed.add(true)
        }
        let transport = try openTransport(to: server.url, timeouts: .long)
        let sending = Task { try await transport.send(moment == .body ? .large : .small) }
        _ = try await reached.next()
        sending.cancel()
        await #expect(throws: CancellationError.self) { try await sending.value }
        isCancelled.signal()
        #expect(try await closed.next())
    }

    @Test("a task that is already cancelled sends nothing")
    func cancelledTaskSendsNothing() async throws {
        let server = try Server(responding: HTTPResponse.ok)
        let transport = try openTransport(to: server.url)
        let sending = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await transport.send(.small)
        }
        await #expect(throws: CancellationError.self) { try await sending.value }
        #expect(server.connectionCount == 0)
    }

    @Test("a cancellation at any moment ends that send and no other")
    func cancellationEndsOneSendOnly() async throws {
        let server = try Server(responding: HTTPResponse.ok)
        let transport = try openTransport(to: server.url, timeouts: .long)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                let sending = Task { try await transport.send(.small) }
                let isCancelled = number.isMultiple(of: 2)
                if isCancelled {
                    group.addTask {
                        // The scheduler decides how far the send gets.
                        for _ in 0..<number { await Task.yield() }
                        sending.cancel()
                    }
                }
                group.addTask {
                    do {
                        let verdicts = try await sending.value
                        #expect(verdicts == .all(.accepted, status: 200))
                    } catch is CancellationError {
                        #expect(isCancelled)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await transport.send(.small) == .all(.accepted, status: 200))
    }

    #if !canImport(Darwin)
        @Test("a cancellation before the send counts, and one after the response ends no later request")
        func cancellationCountsForItsRequest() throws {
            let server = try Server(responding: HTTPResponse.ok)
            try openClient().check()
            let request = HTTPRequest(url: server.url, body: [1])
            let connection = try CurlConnection(created: .zero)
            let first = connection.begin()
            #expect(try connection.send(request, .long).status == 200)
            #expect(connection.isKept)
            _ = connection.begin()
            connection.cancel(first)
            #expect(try connection.send(request, .long).status == 200)
            connection.cancel(connection.begin())
            #expect(throws: CancellationError.self) { try connection.send(request, .long) }
            #expect(!connection.isKept)
            #expect(server.received.all.count == 2)
        }
    #endif

    /// Ends a send after a while, or never.
    private struct ImpatientTransport: Transport {
        let base: HTTPTransport
        let patience: Arrivals<Bool>

        func send(_ batch: Batch) async throws -> Verdicts {
            try await withThrowingTaskGroup(of: Verdicts.self) { group in
                group.addTask { try await base.send(batch) }
                group.addTask {
                    _ = try await patience.next()
                    return .all(.retry(after: nil, reason: "impatient"))
                }
                defer { group.cancelAll() }
                return try await group.next() ?? .all(.accepted)
            }
        }
    }

    @Test("a transport around HTTPTransport can give up in its worker's thread")
    func transportAroundItCanGiveUp() async throws {
        let patience = Arrivals<Bool>()
        let server = try Server { connection in
            _ = try connection.readRequest()
            patience.add(true)
            try connection.waitForClose()
        }
        let retries = Arrivals<String>()
        let pipeline = try Pipeline(
            onDiagnostic: { if $0.kind == .retrying { retries.add($0.message) } }
        ) {
            MemoryStore()
            ImpatientTransport(base: try openTransport(to: server.url, timeouts: .long), patience: patience)
        }
        pipeline.track("Purchase")
        _ = Task { await pipeline.flush() }
        #expect(try await retries.next().contains("impatient"))
        #expect(await pipeline.shutdown(timeout: .zero).routes[0].waiting == 1)
    }

    @Test("a transport that is released during a send completes it")
    func releasedTransportCompletesSend() async throws {
        let server = try Server(responding: HTTPResponse.ok)
        let sendings = try (0..<20).map { _ in
            let transport = try openTransport(to: server.url)
            return Task { try await transport.send(.small) }
        }
        for sending in sendings {
            #expect(try await sending.value == .all(.accepted, status: 200))
        }
    }
}
