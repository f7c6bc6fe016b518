import Dispatch
import Sluice
import SluiceTesting
import Testing

@testable import SluiceHTTP

@Suite("Connections", .serialized, .ownThread)
struct ConnectionTests {
    #if !canImport(Darwin)
        @Test(
            "a connection in steady use is replaced after five minutes",
            arguments: [(1, 300, 1), (1, 301, 2), (30, 20, 2), (299, 3, 2), (300, 3, 3), (86_400, 2, 2), (60, 11, 3)])
        func oldConnectionIsReplaced(seconds: Int, sends: Int, connections: Int) async throws {
            let server = try Server(responding: HTTPResponse.ok)
            let time = VirtualTime()
            let transport = HTTPTransport(to: server.url)
            try transport.open(in: .virtual(time))
            for _ in 0..<sends {
                #expect(try await transport.send(.small) == .all(.accepted, status: 200))
                time.advance(by: .seconds(seconds))
            }
            #expect(Set(server.received.all.map(\.connection)) == Set(0..<connections))
        }
    #endif

    @Test(
        "a server can refuse to reuse connections",
        arguments: ["HTTP/1.1 200 OK\r\nConnection: close", "HTTP/1.0 200 OK"])
    func connectionCloseIsRespected(head: String) async throws {
        let server = try Server { connection in
            _ = try connection.readRequest()
            try connection.write(head + "\r\nContent-Length: 2\r\n\r\n{}")
            try connection.waitForClose()
        }
        let transport = try openTransport(to: server.url)
        for _ in 0..<3 {
            #expect(try await transport.send(.small) == .all(.accepted, status: 200))
        }
        #expect(server.received.all.map(\.connection) == [0, 1, 2])
    }

    @Test("a kept connection that the server has closed is replaced without a failure", arguments: [false, true])
    func staleConnectionIsReplaced(byReset: Bool) async throws {
        let isRead = DispatchSemaphore(value: 0)
        let closed = Arrivals<Bool>()
        let server = try Server { connection in
            _ = try connection.readRequest()
            try connection.write(HTTPResponse.ok)
            if connection.number > 0 { return try connection.waitForClose() }
            isRead.wait()
            if byReset { try connection.reset() } else { connection.end() }
            closed.add(true)
        }
        let transport = try openTransport(to: server.url)
        #expect(try await transport.send(.small) == .all(.accepted, status: 200))
        isRead.signal()
        _ = try await closed.next()
        #expect(try await transport.send(.small) == .all(.accepted, status: 200))
        #expect(server.received.all.map(\.connection) == [0, 1])
    }

    @Test(
        "a kept connection that is closed during the next request is replaced once",
        .failsOnFoundationNetworking("it waits for the timeout"))
    func connectionLostDuringRequestIsReplaced() async throws {
        let server = try Server { connection in
            _ = try connection.readRequest()
            try connection.write(HTTPResponse.ok)
            // The second request on the first connection is read but gets no response.
            _ = try connection.readRequest()
            if connection.number > 0 { try connection.write(HTTPResponse.ok) }
        }
        let transport = try openTransport(to: server.url)
        #expect(try await transport.send(.small) == .all(.accepted, status: 200))
        #expect(try await transport.send(.small) == .all(.accepted, status: 200))
        #expect(server.received.all.map(\.connection) == [0, 0, 1])
    }

    @Test("bytes after a response aren't read as the next response")
    func extraBytesAreNotNextResponse() async throws {
        let server = try Server { connection in
            while try connection.readRequest() != nil {
                try connection.write("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n" + HTTPResponse.ok)
            }
        }
        let transport = try openTransport(to: server.url)
        for _ in 0..<3 {
            #expect(
                try await transport.send(.small)
                    == .all(
                        .retry(after: nil, reason: "the server could not accept the events (HTTP 503)"), status: 503))
        }
    }

    @Test(
        "a late response that wasn't requested isn't read as the next response",
        .failsOnFoundationNetworking("it keeps a connection for the next batch"))
    func lateResponseIsNotNextResponse() async throws {
        let mayWrite = DispatchSemaphore(value: 0)
        let written = Arrivals<Bool>()
        let server = try Server { connection in
            _ = try connection.readRequest()
            try connection.write(HTTPResponse.ok)
            mayWrite.wait()
            try connection.write(HTTPResponse.ok)
            written.add(true)
            while try connection.readRequest() != nil {}
        }
        let transport = try openTransport(to: server.url)
        for number in 0..<10 {
            #expect(try await transport.send(.small) == .all(.accepted, status: 200))
            // Each batch reaches the server over a connection of its own.
            try #require(server.connectionCount == number + 1)
            mayWrite.signal()
            _ = try await written.next()
        }
    }

    @Test(
        "a connection is closed after a response that isn't clean",
        .failsOnFoundationNetworking("it keeps a connection after any complete response"),
        arguments: [
            "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 302 Go\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HT",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\nHT",
        ])
    func uncleanConnectionIsClosed(response: String) async throws {
        let closed = Arrivals<Bool>()
        let server = try Server { connection in
            _ = try connection.readRequest()
            try connection.write(response)
            try connection.waitForClose()
            closed.add(true)
        }
        let transport = try openTransport(to: server.url)
        for number in 0..<3 {
            _ = try await transport.send(.small)
            #expect(server.received.all.map(\.connection) == Array(0...number))
            #expect(try await closed.next())
        }
    }

    @Test("each of many concurrent sends gets its own response")
    func concurrentSendsGetOwnResponses() async throws {
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
                    let response = try await client.send(HTTPRequest(url: url, body: body))
                    return response.status == 200 && response.body == body && response.isComplete
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
        #expect(Set(server.received.all.map(\.text)) == Set((0..<200).map { "request \($0)" }))
        #expect(server.received.all.count == 200)
    }

    @Test("clients don't affect later clients")
    func clientsAreIndependent() async throws {
        let server = try Server(responding: HTTPResponse.ok)
        for _ in 0..<50 {
            #expect(try await openTransport(to: server.url).send(.small) == .all(.accepted, status: 200))
        }
        #expect(server.connectionCount == 50)
    }
}
