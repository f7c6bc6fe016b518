import Sluice
import Testing

@testable import SluiceHTTP

/// One way to treat a client badly, and what is to come of it.
struct Attack: Sendable, CustomTestStringConvertible {
    /// What a route makes of it.
    enum Fate: Sendable, Hashable {
        case delivered
        /// Tried again after so many milliseconds, of which 500 are half of the first back-off.
        case retried(after: Int)
        case held
    }

    /// When the server does its worst.
    enum Moment: Sendable {
        /// As soon as it has a connection, after which the connection ends.
        case connection
        /// When it has read the request.
        case request
        /// The same, but only on a connection over which it has answered a request before.
        case reuse
    }

    let testDescription: String
    /// Any of these.
    let fates: Set<Fate>
    var moment = Moment.request
    var format: any WireFormat = .jsonArray
    /// The client gives up by its own clock: its deadlines are short ones.
    var isTimed = false
    let act: @Sendable (Connection, Server.Surroundings) throws -> Void

    /// Whether the server may have the batch, though the client does not know: then it may come again.
    var mayStore: Bool { moment != .connection }

    init(
        _ description: String, _ fates: Fate..., moment: Moment = .request, format: any WireFormat = .jsonArray,
        isTimed: Bool = false, act: @escaping @Sendable (Connection, Server.Surroundings) throws -> Void
    ) {
        testDescription = description
        self.fates = Set(fates)
        self.moment = moment
        self.format = format
        self.isTimed = isTimed
        self.act = act
    }

    /// An answer as it stands, and the connection kept.
    init(_ description: String, _ fates: Fate..., format: any WireFormat = .jsonArray, answer: String) {
        testDescription = description
        self.fates = Set(fates)
        self.format = format
        act = { connection, _ in try connection.write(answer) }
    }
}

extension Server {
    /// The addresses that an attack may send a client to.
    struct Surroundings: Sendable {
        let own: String
        let other: String
    }
}

extension Attack {
    static let backOff = Fate.retried(after: 500)

    static let all = silence + breaks + floods + redirects + interim + waits

    static let silence: [Attack] = [
        Attack("hangs before it reads", backOff, moment: .connection, isTimed: true) { connection, _ in
            try connection.waitForClose()
        },
        Attack("hangs before the head", backOff, isTimed: true) { connection, _ in try connection.waitForClose() },
        Attack("hangs in mid head", backOff, isTimed: true) { connection, _ in
            try connection.write("HTTP/1.1 200 OK\r\nContent-Le")
            try connection.waitForClose()
        },
        Attack("hangs in mid body", backOff, isTimed: true) { connection, _ in
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12")
            try connection.waitForClose()
        },
        Attack("drips its head", backOff, isTimed: true) { connection, _ in
            try connection.write("HTTP/1.1 200 O")
            while try !connection.isClosedByClient(within: 5) { try connection.write("K") }
        },
        Attack("drips its body", backOff, isTimed: true) { connection, _ in
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n")
            while try !connection.isClosedByClient(within: 5) { try connection.write("x") }
        },
    ]

    static let breaks: [Attack] = [
        Attack("resets before the body", backOff, moment: .connection) { connection, _ in
            try connection.readBeginning()
            try connection.reset()
        },
        Attack("resets after the body", backOff) { connection, _ in try connection.reset() },
        Attack("closes before the body", backOff, moment: .connection) { _, _ in },
        Attack("closes after the body", backOff) { connection, _ in connection.end() },
        Attack("closes in mid head", backOff) { connection, _ in
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n")
            connection.end()
        },
        Attack("closes in mid body", backOff) { connection, _ in
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12")
            connection.end()
        },
        Attack("writes garbage", backOff) { connection, _ in
            try connection.write([0, 1, 2, 0xFF, 0xFE, 13, 10, 13, 10])
            connection.end()
        },
        Attack("writes something like HTTP", backOff) { connection, _ in
            try connection.write("HTTP/1.1 2OO OK\r\n\r\n")
            connection.end()
        },
        // libcurl may send such a request again by itself, over a new connection, where it meets no harm.
        Attack("closes a connection that it has kept", .delivered, backOff, moment: .reuse) { connection, _ in
            connection.end()
        },
        Attack("resets a connection that it has kept", .delivered, backOff, moment: .reuse) { connection, _ in
            try connection.reset()
        },
        Attack("hangs on a connection that it has kept", backOff, moment: .reuse, isTimed: true) { connection, _ in
            try connection.waitForClose()
        },
    ]

    static let floods: [Attack] = [
        Attack("answers 200 and 2 GB, which say nothing", .delivered) { connection, _ in try connection.flood() },
        Attack("answers 200 and 2 GB, which ought to say something", backOff, format: .segment(writeKey: "k")) {
            connection, _ in
            try connection.flood()
        },
        Attack("a head of 3 MB in one line", backOff) { connection, _ in
            try connection.write("HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 3_000_000) + "\r\n\r\n")
        },
        Attack("a head of 3 MB in many lines", backOff) { connection, _ in
            try connection.write("HTTP/1.1 200 OK\r\n" + String(repeating: "X: xxxxxxxx\r\n", count: 240_000) + "\r\n")
        },
    ]

    static let redirects: [Attack] = [301, 302, 303, 307, 308].flatMap { status in
        [
            Attack("\(status) to another server", .held) { connection, surroundings in
                try connection.write(
                    "HTTP/1.1 \(status) Go\r\nLocation: \(surroundings.other)\r\nContent-Length: 0\r\n\r\n")
            },
            Attack("\(status) to itself, in a loop", .held) { connection, surroundings in
                try connection.write(
                    "HTTP/1.1 \(status) Go\r\nLocation: \(surroundings.own)\r\nContent-Length: 0\r\n\r\n")
            },
        ]
    }

    private static let goOn = "HTTP/1.1 100 Continue\r\n\r\n"

    static let interim: [Attack] = [
        Attack("100 that nobody asked for, then 200", .delivered, answer: goOn + HTTPAnswer.ok),
        Attack("100 ten times, then 200", .delivered, answer: String(repeating: goOn, count: 10) + HTTPAnswer.ok),
        Attack("100 before the body is read, then 503", backOff) { connection, _ in
            try connection.write(goOn)
            try connection.write("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
        },
        Attack("100, then nothing", backOff, isTimed: true) { connection, _ in
            try connection.write(goOn)
            try connection.waitForClose()
        },
        Attack("100, then the end", backOff) { connection, _ in
            try connection.write(goOn)
            connection.end()
        },
        Attack("100 with a length, then 200", .delivered, backOff) { connection, _ in
            try connection.write("HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\n" + HTTPAnswer.ok)
            connection.end()
        },
        Attack("100, then garbage", backOff) { connection, _ in
            try connection.write(goOn + "nonsense\r\n\r\n")
            connection.end()
        },
        Attack("101 to a protocol that nobody asked for", backOff) { connection, _ in
            try connection.write("HTTP/1.1 101 Switching\r\nUpgrade: tls\r\n\r\n")
            connection.end()
        },
    ]

    /// What `Retry-After` says, and the seconds to wait at least; nil if it says nothing that can be understood.
    private static let retryAfter: [(text: String, seconds: Int?)] = [
        ("30", 30), ("0", 0), ("Thu, 01 Jan 2026 00:01:00 GMT", 60), ("Wed, 31 Dec 2025 00:00:00 GMT", 0),
        ("Fri, 01 Jan 2027 00:00:00 GMT", 3_600), ("-5", nil), ("1000000000", 3_600),
        ("99999999999999999999999", 3_600), ("soon", nil), ("", nil), ("1.5", nil), ("1e3", nil), ("NaN", nil),
    ]

    static let waits: [Attack] = [429, 503].flatMap { status in
        retryAfter.map { text, seconds in
            Attack(
                "\(status) with Retry-After: \(text)", .retried(after: 500 + (seconds ?? 0) * 1_000),
                answer: "HTTP/1.1 \(status) Later\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nRetry-After: \(text)\r\n"
                    + "Content-Length: 0\r\n\r\n")
        }
    }

    /// Every status, and what delivery makes of it.
    static let statuses: [Attack] = (200...599).map { status in
        let fate: Fate =
            switch status {
            case 200...299: .delivered
            case 408, 425, 429, 500...: backOff
            // Among these those by which a server that refuses all is found out.
            default: .held
            }
        return Attack("\(status)", fate, answer: "HTTP/1.1 \(status) Odd\r\nContent-Length: 0\r\n\r\n")
    }
}

extension Connection {
    /// 2 GB, as far as the client takes it.
    fileprivate func flood() throws {
        try write("HTTP/1.1 200 OK\r\nContent-Length: 2147483648\r\n\r\n")
        let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 65_536)
        for _ in 0..<32_768 { try write(piece) }
    }
}
