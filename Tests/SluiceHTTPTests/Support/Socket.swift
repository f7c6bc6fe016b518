import Sluice
import SluiceLibC

/// The system calls of a test server.
enum Socket {
    #if canImport(Glibc)
        private static let stream = Int32(SOCK_STREAM.rawValue)
    #else
        private static let stream = SOCK_STREAM
    #endif

    /// Listens on a free port of the loopback interface.
    static func makeListener() throws -> (descriptor: Int32, port: UInt16) {
        let (descriptor, port) = try bindAnyPort()
        guard listen(descriptor, 1_024) == 0 else {
            throw SluiceError(.inputOutput, "the socket can't listen: \(errno)")
        }
        return (descriptor, port)
    }

    /// Runs `body` with a reserved port on which nothing listens.
    static func withUnusedPort(_ body: (UInt16) async throws -> Void) async throws {
        let (descriptor, port) = try bindAnyPort()
        defer { close(descriptor) }
        try await body(port)
    }

    private static func bindAnyPort() throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, stream, 0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        var address = loopback(port: 0)
        let isBound = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, size) == 0 && getsockname(descriptor, address, &size) == 0
            }
        }
        guard descriptor >= 0, isBound else { throw SluiceError(.inputOutput, "no socket: \(errno)") }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    static func nextConnection(of listener: Int32) -> Int32? {
        while true {
            let descriptor = accept(listener, nil, nil)
            if descriptor < 0, errno == EINTR || errno == ECONNABORTED { continue }
            guard descriptor >= 0 else { return nil }
            var yes: Int32 = 1
            let size = socklen_t(MemoryLayout<Int32>.size)
            setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, size)
            #if !os(Linux)
                setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &yes, size)
            #endif
            return descriptor
        }
    }

    /// Connects and closes.
    static func touch(_ port: UInt16) {
        let descriptor = socket(AF_INET, stream, 0)
        var address = loopback(port: port)
        withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                let size = socklen_t(MemoryLayout<sockaddr_in>.size)
                _ = connect(descriptor, address, size)
            }
        }
        close(descriptor)
    }

    static func read(_ descriptor: Int32, upTo limit: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            var result = recv(descriptor, buffer.baseAddress, limit, 0)
            while result < 0, errno == EINTR { result = recv(descriptor, buffer.baseAddress, limit, 0) }
            count = max(0, result)
        }
    }

    static func write(_ bytes: [UInt8], to descriptor: Int32) throws {
        #if os(Linux)
            let flags = Int32(MSG_NOSIGNAL)
        #else
            let flags: Int32 = 0
        #endif
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { bytes in
                send(descriptor, bytes.baseAddress.map { $0 + sent }, bytes.count - sent, flags)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw SluiceError(.inputOutput, "the client has closed") }
            sent += count
        }
    }

    static func isReadable(_ descriptor: Int32, within milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, milliseconds) > 0
    }

    static func resetOnClose(_ descriptor: Int32) {
        var now = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
    }

    private static func loopback(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}
