import Foundation
import Sluice
import SluiceLibC

/// A server that runs a script for each connection, on a thread per connection.
///
/// Serialize suites that use it. All together they had 2,000 descriptors open, and on Linux, Foundation's `Process.run()` can
/// crash with more than 1,300 (swiftlang/swift-corelibs-foundation#5472). macOS allows 256 by default.
final class Server: Sendable {
    private struct State {
        var isStopped = false
        var connections: [Connection] = []
    }

    let port: UInt16
    /// The requests that scripts have read, in order.
    let received: Arrivals<ReceivedRequest>
    private let listener: Int32
    private let state: Locked<State>

    var url: String { "http://127.0.0.1:\(port)/events" }
    var connectionCount: Int { state.withLock { $0.connections.count } }

    /// - Parameter script: Called for each connection, which is closed afterwards.
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

    /// A server that sends the same bytes after each request and keeps the connection.
    convenience init(responding response: String) throws {
        try self.init { connection in
            while try connection.readRequest() != nil {
                try connection.write(response)
            }
        }
    }

    /// A server that sends these bytes after the first request of a connection, and ends it.
    convenience init(respondingOnce response: String) throws {
        try self.init { connection in
            _ = try connection.readRequest()
            try connection.write(response)
        }
    }

    deinit {
        let connections = state.withLock { state in
            state.isStopped = true
            return state.connections
        }
        for connection in connections { connection.shutDown() }
        // Wakes the thread in accept.
        Socket.touch(port)
    }

    /// Disables proxies, before a client reads the environment.
    static func avoidProxies() { _ = proxiesAreAvoided }
    private static let proxiesAreAvoided: Void = {
        setenv("no_proxy", "*", 1)
    }()
}

/// The server's end of a connection.
final class Connection: Sendable {
    /// 0 for the first accepted connection.
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

    /// Waits for a complete request. Returns nil if the client closes.
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

    /// Waits for the first bytes and leaves the rest of the request unread.
    func readBeginning() throws {
        _ = try read(upTo: 16)
    }

    /// Reads and discards this many bytes, or fewer if the client closes.
    func readRest(of count: Int) throws {
        var rest = count
        while rest > 0, let bytes = Optional(try read(upTo: min(rest, 65_536))), !bytes.isEmpty { rest -= bytes.count }
    }

    func write(_ text: String) throws {
        try write(Array(text.utf8))
    }

    func write(_ bytes: [UInt8]) throws {
        try Socket.write(bytes, to: open())
    }

    /// Writes 16 MiB of this piece, or until the client closes, for which it then waits. A client that doesn't stop reading gets
    /// no end. More would prove no more, and URLSession of swift-corelibs-foundation takes in all that arrives before its
    /// delegate runs: on a busy machine, gigabytes.
    func flood(_ piece: [UInt8]) throws {
        for _ in 0..<(16 << 20) / piece.count { try write(piece) }
        try waitForClose()
    }

    /// Whether the client closes within this time.
    func isClosedByClient(within milliseconds: Int32) throws -> Bool {
        guard try Socket.isReadable(open(), within: milliseconds) else { return false }
        return try read().isEmpty
    }

    /// Reads until the client closes.
    func waitForClose() throws {
        while try !read().isEmpty {}
    }

    /// Closes the writing half.
    func endWriting() throws {
        shutdown(try open(), Int32(SHUT_WR))
    }

    /// Closes with an RST, which discards bytes that the client hasn't read.
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

    /// Returns no bytes if the client has closed or reset the connection.
    private func read(upTo count: Int = 65_536) throws -> [UInt8] {
        Socket.read(try open(), upTo: count)
    }
}
