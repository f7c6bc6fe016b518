import Foundation
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#endif

/// A server on loopback that can send anything. It runs a script for each connection, on a thread of its own.
final class RawServer: Sendable {
    struct Failure: Error {}

    let port: UInt16
    private let connections = Mutex<[RawConnection]>([])

    var url: String { "http://127.0.0.1:\(port)/events" }
    var connectionCount: Int { connections.withLock { $0.count } }

    /// - Parameter script: Called for each connection, which is closed afterwards.
    init(_ script: @escaping @Sendable (RawConnection) throws -> Void) throws {
        let listener = RawServer.makeSocket()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        var address = RawServer.loopback(0)
        let isListening = RawServer.with(&address) { address in
            bind(listener, address, size) == 0 && listen(listener, 1_024) == 0
                && getsockname(listener, address, &size) == 0
        }
        guard isListening else { throw Failure() }
        port = UInt16(bigEndian: address.sin_port)
        // The thread doesn't retain the server, and ends when there is a connection without one.
        let connection = { @Sendable [weak self] (descriptor: Int32) in self?.connection(descriptor) }
        Thread.detachNewThread {
            while case let descriptor = accept(listener, nil, nil), descriptor >= 0 {
                guard let connection = connection(descriptor) else {
                    close(descriptor)
                    break
                }
                Thread.detachNewThread {
                    // A write fails when the client closes, which ends the script.
                    do { try script(connection) } catch {}
                    connection.end()
                }
            }
            close(listener)
        }
    }

    /// A server that sends the same response to each request.
    convenience init(responding response: String) throws {
        try self.init { connection in
            while try connection.readRequest() { try connection.write(response) }
        }
    }

    deinit {
        for connection in connections.withLock({ $0 }) { connection.shutDown() }
        // Wakes the thread in accept.
        let descriptor = RawServer.makeSocket()
        var address = RawServer.loopback(port)
        _ = RawServer.with(&address) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        close(descriptor)
    }

    private func connection(_ descriptor: Int32) -> RawConnection {
        let connection = RawConnection(descriptor)
        connections.withLock { $0.append(connection) }
        return connection
    }

    private static func makeSocket() -> Int32 {
        #if canImport(Glibc)
            socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            socket(AF_INET, SOCK_STREAM, 0)
        #endif
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private static func with<Result>(
        _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>) -> Result
    ) -> Result {
        withUnsafeMutablePointer(to: &address) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body) }
    }
}

/// The server's end of a connection.
final class RawConnection: Sendable {
    static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

    private let descriptor: Mutex<Int32?>
    private let unread = Mutex<[UInt8]>([])

    fileprivate init(_ descriptor: Int32) { self.descriptor = Mutex(descriptor) }

    /// Reads a whole request. Returns false if the client closes.
    func readRequest() throws -> Bool { try readBody() != nil }

    /// Reads a whole request, and returns its body; nil if the client closes.
    func readBody() throws -> [UInt8]? { try readParts()?.body }

    /// Reads a whole request, and returns its parts; nil if the client closes.
    func readParts() throws -> (head: String, body: [UInt8])? {
        var bytes = unread.withLock { $0 }
        while true {
            if let end = bytes.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound {
                let head = String(decoding: bytes[..<end], as: UTF8.self)
                let length = head.lowercased().firstMatch(of: /content-length: ([0-9]+)/).flatMap { Int($0.1) } ?? 0
                if bytes.count >= end + length {
                    let rest = Array(bytes[(end + length)...])
                    unread.withLock { $0 = rest }
                    return (head, Array(bytes[end..<end + length]))
                }
            }
            let more = try read(upTo: 65_536)
            if more.isEmpty { return nil }
            bytes += more
        }
    }

    /// Returns no bytes if the client has closed.
    @discardableResult
    func read(upTo count: Int) throws -> [UInt8] {
        let descriptor = try open()
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, read in
            read = max(0, recv(descriptor, buffer.baseAddress, count, 0))
        }
    }

    func write(_ text: String) throws { try write(Array(text.utf8)) }

    func write(_ bytes: [UInt8]) throws {
        let descriptor = try open()
        #if canImport(Glibc)
            let flags = Int32(MSG_NOSIGNAL)
        #else
            let flags: Int32 = 0
        #endif
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                send(descriptor, $0.baseAddress.map { $0 + sent }, bytes.count - sent, flags)
            }
            guard count > 0 else { throw RawServer.Failure() }
            sent += count
        }
    }

    /// Writes a byte every few milliseconds until the client closes.
    func drip(_ byte: String) throws {
        var entry = pollfd(fd: try open(), events: Int16(POLLIN), revents: 0)
        repeat {
            try write(byte)
        } while try poll(&entry, 1, 5) == 0 || !read(upTo: 65_536).isEmpty
    }

    func waitForClose() throws {
        while try !read(upTo: 65_536).isEmpty {}
    }

    /// Closes with an RST.
    func reset() throws {
        var now = linger(l_onoff: 1, l_linger: 0)
        setsockopt(try open(), SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
        end()
    }

    func end() {
        descriptor.withLock { descriptor in
            if let open = descriptor { close(open) }
            descriptor = nil
        }
    }

    fileprivate func shutDown() {
        descriptor.withLock { descriptor in
            if let descriptor { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    private func open() throws -> Int32 {
        guard let descriptor = descriptor.withLock({ $0 }) else { throw RawServer.Failure() }
        return descriptor
    }
}
