import Dispatch
import Sluice
import Testing

@testable import SluiceHTTP

#if !canImport(Darwin)
    import CSluiceCurl
#endif

@Suite("Cancellation", .serialized)
struct CancellationTests {
    @Test("cancelling the task ends a waiting send and closes its connection", arguments: [true, false])
    func cancellationEndsWaitingSend(hasBegun: Bool) async throws {
        let reached = Arrivals<Bool>()
        let closed = Arrivals<Bool>()
        let server = try Server { connection in
            _ = try connection.readRequest()
            if hasBegun { try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1") }
            reached.add(true)
            try connection.waitForClose()
            closed.add(true)
        }
        let transport = try openTransport(to: server.url, timeouts: .long)
        let sending = Task { try await transport.send(.small) }
        _ = try await reached.next()
        sending.cancel()
        await #expect(throws: CancellationError.self) { try await sending.value }
        #expect(try await closed.next())
    }

    @Test("cancelling the task ends a send in the middle of its body")
    func cancellationEndsUpload() async throws {
        let reached = Arrivals<Bool>()
        let closed = Arrivals<Bool>()
        let isCancelled = DispatchSemaphore(value: 0)
        let server = try Server { connection in
            try connection.readBeginning()
            reached.add(true)
            // The body doesn't fit into the connection's buffers and waits for a reader.
            isCancelled.wait()
            try connection.waitForClose()
            closed.add(true)
        }
        let transport = try openTransport(to: server.url, timeouts: .long)
        let sending = Task { try await transport.send(.large) }
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
        @Test("a transfer that is cancelled before its start ends when it starts")
        func cancellationBeforeStartEndsTransfer() async throws {
            let server = try Server { connection in try connection.waitForClose() }
            _ = try openClient()
            let client = try #require(sluice_curl_client_create())
            defer { sluice_curl_client_release(client) }
            let transfer = CurlTransfer(CurlHandle(pointer: client))
            transfer.cancel()
            await #expect(throws: CancellationError.self) {
                try await withCheckedThrowingContinuation { continuation in
                    transfer.start(HTTPRequest(url: server.url, body: [1]), .long, continuation)
                }
            }
        }

        @Test("a transfer ends when its client is released")
        func releasedClientEndsTransfer() async throws {
            let reached = Arrivals<Bool>()
            let server = try Server { connection in
                try connection.readBeginning()
                reached.add(true)
                try connection.waitForClose()
            }
            _ = try openClient()
            let handle = CurlHandle(pointer: try #require(sluice_curl_client_create()))
            let url = server.url
            let sending = Task {
                try await withCheckedThrowingContinuation { continuation in
                    CurlTransfer(handle).start(HTTPRequest(url: url, body: [1]), .long, continuation)
                }
            }
            _ = try await reached.next()
            sluice_curl_client_release(handle.pointer)
            await #expect(throws: CancellationError.self) { try await sending.value }
        }
    #endif

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
