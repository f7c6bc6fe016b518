import Testing

/// One way in which a server misbehaves, and the expected results.
struct Attack: Sendable, CustomTestStringConvertible {
    enum Fate: Sendable {
        case delivered
        case kept
    }

    let testDescription: String
    let fates: Set<Fate>
    /// Whether the server misbehaves before it has read a request.
    var isOnConnection = false
    /// Whether only the timeout ends the request.
    var isTimed = false
    /// Gets the connection and the URL of another server.
    let act: @Sendable (RawConnection, String) throws -> Void

    init(
        _ description: String, _ fates: Fate..., isOnConnection: Bool = false, isTimed: Bool = false,
        act: @escaping @Sendable (RawConnection, String) throws -> Void
    ) {
        testDescription = description
        self.fates = Set(fates)
        self.isOnConnection = isOnConnection
        self.isTimed = isTimed
        self.act = act
    }

    static let all = silence + breaks + floods + redirects + interim

    private static let ok = "HTTP/1.1 200 OK\r\n"

    private static let silence = [
        Attack("hangs before it reads", .kept, isOnConnection: true, isTimed: true) { connection, _ in
            try connection.waitForClose()
        },
        Attack("hangs before the head", .kept, isTimed: true) { connection, _ in try connection.waitForClose() },
        Attack("hangs in the middle of the head", .kept, isTimed: true) { connection, _ in
            try connection.write("HTTP/1.1 200 OK\r\nContent-Le")
            try connection.waitForClose()
        },
        Attack("hangs in the middle of the body", .kept, isTimed: true) { connection, _ in
            try connection.write(ok + "Content-Length: 5\r\n\r\n12")
            try connection.waitForClose()
        },
        Attack("drips its head", .kept, isTimed: true) { connection, _ in
            try connection.write("HTTP/1.1 200 O")
            try connection.drip("K")
        },
        Attack("drips its body", .kept, isTimed: true) { connection, _ in
            try connection.write(ok + "Content-Length: 60000\r\n\r\n")
            try connection.drip("x")
        },
        Attack("drips interim responses", .kept, isTimed: true) { connection, _ in
            try connection.drip("HTTP/1.1 100 Continue\r\n\r\n")
        },
    ]

    private static let breaks = [
        Attack("closes before it reads", .kept, isOnConnection: true) { _, _ in },
        Attack("closes after the request", .kept) { _, _ in },
        Attack("resets after the request", .kept) { connection, _ in try connection.reset() },
        Attack("closes in the middle of the head", .kept) { connection, _ in
            try connection.write(ok + "Content-Length: 5\r\n")
        },
        Attack("closes in the middle of the body", .kept) { connection, _ in
            try connection.write(ok + "Content-Length: 5\r\n\r\n12")
        },
        Attack("closes in the middle of a chunk", .kept) { connection, _ in
            try connection.write(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\n12")
        },
        Attack("writes garbage", .kept) { connection, _ in
            try connection.write([0, 1, 2, 0xFF, 0xFE, 13, 10, 13, 10])
        },
        Attack("writes something like HTTP", .kept) { connection, _ in
            try connection.write("HTTP/1.1 2OO OK\r\n\r\n")
        },
        Attack("has two lengths", .kept) { connection, _ in
            try connection.write(ok + "Content-Length: 2\r\nContent-Length: 5\r\n\r\n12")
        },
        Attack("has a negative length", .kept) { connection, _ in
            try connection.write(ok + "Content-Length: -5\r\n\r\n12")
        },
        // The response is complete. The connection can't be used for another request.
        Attack("has more body than length", .delivered, .kept) { connection, _ in
            try connection.write(ok + "Content-Length: 1\r\n\r\n" + String(repeating: "x", count: 1_000))
        },
    ]

    private static let floods = [
        Attack("an endless body", .delivered) { connection, _ in
            try connection.write(ok + "Content-Length: 2147483648\r\n\r\n")
            while true { try connection.write([UInt8](repeating: 1, count: 65_536)) }
        },
        Attack("endless chunks", .delivered) { connection, _ in
            try connection.write(ok + "Transfer-Encoding: chunked\r\n\r\n")
            while true { try connection.write(String(repeating: "4\r\nabcd\r\n", count: 1_000)) }
        },
        Attack("an endless header", .kept) { connection, _ in
            try connection.write(ok + "X: ")
            while true { try connection.write(String(repeating: "x", count: 65_536)) }
        },
        Attack("endless headers", .kept) { connection, _ in
            try connection.write(ok)
            while true { try connection.write(String(repeating: "X: x\r\n", count: 1_000)) }
        },
        Attack("endless trailers", .kept, isTimed: true) { connection, _ in
            try connection.write(ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n")
            while true { try connection.write(String(repeating: "X: x\r\n", count: 1_000)) }
        },
        Attack("an endless extension of a chunk", .kept, isTimed: true) { connection, _ in
            try connection.write(ok + "Transfer-Encoding: chunked\r\n\r\n2;")
            while true { try connection.write(String(repeating: "x=y;", count: 1_000)) }
        },
        Attack("endless interim responses", .kept, isTimed: true) { connection, _ in
            while true { try connection.write(String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 1_000)) }
        },
    ]

    private static let redirects = [301, 302, 303, 307, 308].map { status in
        Attack("\(status) to another server", .kept) { connection, other in
            try connection.write("HTTP/1.1 \(status) Go\r\nLocation: \(other)\r\nContent-Length: 0\r\n\r\n")
        }
    }

    private static let interim = [
        Attack("100 ten times, then 200", .delivered) { connection, _ in
            try connection.write(String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 10) + RawConnection.ok)
        },
        Attack("100, then the end", .kept) { connection, _ in
            try connection.write("HTTP/1.1 100 Continue\r\n\r\n")
        },
        Attack("101 to a protocol that wasn't requested", .kept) { connection, _ in
            try connection.write("HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: tls\r\n\r\n")
        },
    ]
}
