import Foundation
import Sluice

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Does to each connection what a script says, right or wrong, on a thread of the connection's own.
final class Server: Sendable {
    private struct State {
        var isStopped = false
        var connections: [Connection] = []
    }

    let port: UInt16
    /// The requests that scripts have read, in the order in which they came.
    let received: Arrivals<ReceivedRequest>
    private let listener: Int32
    private let state: Locked<State>

    var url: String { "http://127.0.0.1:\(port)/events" }
    var connectionCount: Int { state.withLock { $0.connections.count } }

    /// - Parameter script: called for each connection; when it returns, the connection is closed.
    init(_ script: @escaping @Sendable (Connection) throws -> Void) throws {
        Server.avoidProxies()
        let received = Arrivals<ReceivedRequest>()
        let state = Locked(State())
        (listener, port) = try Socket.makeListener()
        self.received = received
        self.state = state
        Thread.detachNewThread { [listener] in
            while let descriptor = Socket.nextConnection(of: listener) {
                let connection = state.withLock { state -> Connection? in
                    guard !state.isStopped else { return nil }
                    let connection = Connection(descriptor, number: state.connections.count, received)
                    state.connections.append(connection)
                    return connection
                }
                guard let connection else {
                    close(descriptor)
                    break
                }
                Thread.detachNewThread {
                    do {
                        try script(connection)
                    } catch {
                        connection.failures.add("\(error)")
                    }
                    connection.end()
                }
            }
            close(listener)
        }
    }

    /// Answers each request with the same bytes, and keeps the connection.
    convenience init(answering answer: String) throws {
        try self.init { connection in
            while try connection.readRequest() != nil {
                try connection.write(answer)
            }
        }
    }

    deinit {
        let connections = state.withLock { state in
            state.isStopped = true
            return state.connections
        }
        for connection in connections { connection.shutDown() }
        // Wakes the thread that waits in accept, on every system.
        Socket.touch(port)
    }

    /// A proxy of the machine's must not come between; set before any client has read its environment.
    static func avoidProxies() { _ = proxiesAreAvoided }
    private static let proxiesAreAvoided: Void = {
        setenv("no_proxy", "*", 1)
    }()
}

/// One end of a connection, in the hands of a script.
final class Connection: Sendable {
    /// 0 for the first that the server has accepted.
    let number: Int
    let failures = Arrivals<String>()
    private let received: Arrivals<ReceivedRequest>
    private let descriptor: Locked<Int32?>
    private let unread = Locked<[UInt8]>([])

    fileprivate init(_ descriptor: Int32, number: Int, _ received: Arrivals<ReceivedRequest>) {
        self.descriptor = Locked(descriptor)
        self.number = number
        self.received = received
    }

    /// Waits for a whole request; nil when the client closes instead.
    func readRequest() throws -> ReceivedRequest? {
        let end = Array("\r\n\r\n".utf8)
        var bytes = unread.withLock { $0 }
        while true {
            if let head = bytes.firstRange(of: end) {
                var request = ReceivedRequest(
                    connection: number, head: String(decoding: bytes[..<head.upperBound], as: UTF8.self), body: [])
                let length = Int(request.header("Content-Length") ?? "0") ?? 0
                if bytes.count - head.upperBound >= length {
                    request.body = Array(bytes[head.upperBound..<head.upperBound + length])
                    let rest = Array(bytes[(head.upperBound + length)...])
                    unread.withLock { $0 = rest }
                    received.add(request)
                    return request
                }
            }
            let more = try read()
            if more.isEmpty { return nil }
            bytes += more
        }
    }

    /// Waits for the first bytes only, and leaves the rest of the request where it is.
    func readBeginning() throws {
        _ = try read(upTo: 16)
    }

    func write(_ text: String) throws {
        try write(Array(text.utf8))
    }

    func write(_ bytes: [UInt8]) throws {
        try Socket.write(bytes, to: open())
    }

    /// Whether the client closes within a moment, for a server that is slow but not deaf.
    func isClosedByClient(within milliseconds: Int32) throws -> Bool {
        guard try Socket.isReadable(open(), within: milliseconds) else { return false }
        return try read().isEmpty
    }

    /// Waits until the client closes, whatever it still sends.
    func waitForClose() throws {
        while try !read().isEmpty {}
    }

    /// Says that nothing more will be written, and reads on.
    func endWriting() throws {
        shutdown(try open(), Int32(SHUT_WR))
    }

    /// Closes with an RST, which overtakes what the client has not read yet.
    func reset() throws {
        Socket.resetOnClose(try open())
        end()
    }

    func end() {
        descriptor.withLock { descriptor in
            guard let open = descriptor else { return }
            close(open)
            descriptor = nil
        }
    }

    fileprivate func shutDown() {
        descriptor.withLock { descriptor in
            if let descriptor { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    private func open() throws -> Int32 {
        guard let descriptor = descriptor.withLock({ $0 }) else { throw SluiceError(.shutDown, "closed by the script") }
        return descriptor
    }

    /// Empty when the client has closed, or reset, the connection.
    private func read(upTo count: Int = 65_536) throws -> [UInt8] {
        Socket.read(try open(), upTo: count)
    }
}
