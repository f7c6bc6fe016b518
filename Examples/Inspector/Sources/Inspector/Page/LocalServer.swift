import FlyingSocks
import Foundation

/// Serves HTTP/1.1 on 127.0.0.1, one request per connection.
///
/// Any program of this machine can connect. So each request has a limited size and time, and only a limited number of
/// connections are open.
struct LocalServer: Sendable {
    /// The bounds of what a client can use.
    struct Limits: Sendable {
        /// The bytes of the request line and the headers.
        var head = 16_384
        var body = 1_048_576
        /// The time for a request to arrive. A response can take any time.
        var time = Duration.seconds(10)
        /// More connections are closed immediately. Otherwise they could use up the process's descriptors.
        var connections = 256
    }

    /// Zero for any free port.
    let port: Int
    var limits = Limits()
    /// Called for each request that is answered before it was read as a whole.
    var onProblem: @Sendable (HTTPProblem) async -> Void = { _ in }
    /// Called for each request, also for several at the same time. `port` is the one on which the server listens. If it
    /// throws, the connection is closed without a response.
    let respond: @Sendable (_ request: HTTPRequest, _ port: Int) async throws -> HTTPResponse

    /// Serves until the task is cancelled.
    ///
    /// - Parameter onReady: Called with the port as soon as it accepts connections.
    /// - Throws: A ``PortProblem`` if another port may help.
    func run(onReady: @escaping @Sendable (_ port: Int) -> Void) async throws {
        let pool = SocketPool.make()
        try await pool.prepare()
        let (listener, port) = try listen()
        defer { close(listener) }
        let socket = try AsyncSocket(socket: listener, pool: pool)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await pool.run() }
            group.addTask { try await accept(from: socket, port) }
            defer { group.cancelAll() }
            onReady(port)
            _ = try await group.next()
        }
    }

    private func listen() throws -> (Socket, port: Int) {
        let socket = try Socket(domain: AF_INET, type: .stream)
        do {
            // Otherwise the port of a server that has just ended is refused for a minute.
            try socket.setValue(true, for: .localAddressReuse)
            #if canImport(Darwin)
                try socket.setValue(true, for: .noSIGPIPE)
            #endif
            try socket.bind(to: sockaddr_in.inet(ip4: "127.0.0.1", port: UInt16(port)))
            try socket.listen()
            guard case .ip4(_, let port) = try socket.sockname() else { throw SocketError.unsupportedAddress }
            return (socket, Int(port))
        } catch {
            close(socket)
            guard case SocketError.failed(_, let code, _) = error, PortProblem.codes.contains(code) else { throw error }
            throw PortProblem(port: port, code: code)
        }
    }

    /// The errors of `accept` that pass.
    private static let passing: Set<CInt> = [ECONNABORTED, EINTR, EMFILE, ENFILE, ENOBUFS, ENOMEM]

    private func accept(from listener: AsyncSocket, _ port: Int) async throws {
        let connections = Connections(limit: limits.connections)
        try await withThrowingDiscardingTaskGroup { group in
            while true {
                do {
                    let socket = try await listener.accept()
                    group.addTask {
                        if await connections.open() {
                            await serve(socket, port)
                            await connections.close()
                        }
                        close(socket.socket)
                    }
                } catch SocketError.failed(_, let code, _) where LocalServer.passing.contains(code) {
                    try await Task.sleep(for: .milliseconds(100))
                }
            }
        }
    }

    private func serve(_ socket: AsyncSocket, _ port: Int) async {
        do {
            let request: HTTPRequest
            do {
                request = try await within(limits.time) { try await read(from: socket) }
            } catch let problem as HTTPProblem {
                await onProblem(problem)
                try await write(.text(problem.rawValue, status: problem.status), to: socket)
                try await within(limits.time) { try await discardRest(of: socket) }
                return
            }
            try await write(try await respond(request, port), to: socket)
        } catch {
            // The client has closed the connection, or the server ends.
        }
    }

    private func read(from socket: AsyncSocket) async throws -> HTTPRequest {
        var bytes: [UInt8] = []
        let separator = Array("\r\n\r\n".utf8)
        var searched = 0
        while true {
            if let end = bytes[searched...].firstRange(of: separator) {
                var request = try HTTPRequest(head: Array(bytes[..<end.lowerBound]))
                let length = try request.bodyLength(atMost: limits.body)
                bytes.removeFirst(end.upperBound)
                while bytes.count < length { bytes += try await socket.read(atMost: length - bytes.count) }
                request.body = Array(bytes.prefix(length))
                return request
            }
            guard bytes.count < limits.head else { throw HTTPProblem.headTooLarge }
            searched = max(0, bytes.count - separator.count)
            bytes += try await socket.read(atMost: limits.head - bytes.count)
        }
    }

    private func write(_ response: HTTPResponse, to socket: AsyncSocket) async throws {
        try await socket.write(Data(response.head))
        switch response.body {
        case .bytes(let bytes): try await socket.write(Data(bytes))
        case .stream(let parts): for await part in parts { try await socket.write(Data(part)) }
        }
    }

    /// Reads the rest of a request that is refused. Otherwise the system would discard the response too.
    private func discardRest(of socket: AsyncSocket) async throws {
        shutdown(socket.socket.file.rawValue, CInt(SHUT_WR))
        var count = 0
        while count < limits.body { count += try await socket.read(atMost: 4_096).count }
    }

    private func within<Value: Sendable>(
        _ time: Duration, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value.self) { group in
            group.addTask(operation: body)
            group.addTask {
                try await Task.sleep(for: time)
                throw HTTPProblem.tooSlow
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw CancellationError() }
            return first
        }
    }

    private func close(_ socket: Socket) {
        do {
            try socket.close()
        } catch {
            // The system has released the descriptor in any case.
        }
    }
}

/// Counts the open connections.
private actor Connections {
    private let limit: Int
    private var count = 0

    init(limit: Int) {
        self.limit = limit
    }

    /// Returns whether another connection may be open. Call ``close()`` when it ends.
    func open() -> Bool {
        guard count < limit else { return false }
        count += 1
        return true
    }

    func close() { count -= 1 }
}

/// The server can't listen on the port.
struct PortProblem: Error, CustomStringConvertible {
    /// The errors that another port may not have.
    static let codes: Set<CInt> = [EADDRINUSE, EACCES, EPERM, EADDRNOTAVAIL]

    let port: Int
    let code: CInt

    var description: String {
        let reason =
            switch code {
            case EADDRINUSE: "is in use"
            case EACCES, EPERM: "is not allowed for this user"
            default: "can't be used (\(String(cString: strerror(code))))"
            }
        return "port \(port) \(reason): pass another one with --port, or 0 for any free one"
    }
}
