import HTTPTestSupport
import Sluice
import TestSupport
import Testing

@testable import SluiceHTTP

/// One way in which a server misbehaves, and the expected result.
struct Attack: Sendable, CustomTestStringConvertible {
    /// The result in the route.
    enum Fate: Sendable, Hashable {
        case delivered
        /// A retry after this many milliseconds.
        case retried(after: Int)
        case held
    }

    /// When the server misbehaves.
    enum Moment: Sendable {
        /// As soon as it has accepted the connection, which then ends.
        case connection
        /// After it has read the request.
        case request
        /// After it has read the request, but only on a connection with an earlier response.
        case reuse
    }

    let testDescription: String
    /// One of these is expected.
    let fates: Set<Fate>
    var moment = Moment.request
    var format: HTTPFormat = .jsonArray
    /// The client gives up, with short timeouts.
    var isTimed = false
    let act: @Sendable (Connection, Server.Surroundings) throws -> Void

    /// Whether the server may have stored the batch without the client's knowledge. It may then be sent again.
    var mayStore: Bool { moment != .connection }

    init(
        _ description: String, _ fates: Fate..., moment: Moment = .request, format: HTTPFormat = .jsonArray,
        isTimed: Bool = false, act: @escaping @Sendable (Connection, Server.Surroundings) throws -> Void
    ) {
        testDescription = description
        self.fates = Set(fates)
        self.moment = moment
        self.format = format
        self.isTimed = isTimed
        self.act = act
    }

    /// What the server does after a response.
    enum Rest: Sendable { case keeps, ends, hangs }

    init(_ description: String, _ fates: Fate..., response: String, then rest: Rest = .keeps) {
        testDescription = description
        self.fates = Set(fates)
        isTimed = rest == .hangs
        act = { connection, _ in
            try connection.write(response)
            if rest == .ends { connection.end() }
            if rest == .hangs { try connection.waitForClose() }
        }
    }
}

extension Server {
    /// The addresses to which an attack can redirect a client.
    struct Surroundings: Sendable {
        let own: String
        let other: String
    }
}

extension Attack {
    /// The middle of the first back-off.
    static let backOff = Fate.retried(after: 550)
    /// It is a little shorter for a receiver that has accepted something.
    static let backOffAfterAcceptance = Fate.retried(after: 547)

    static let all = silence + breaks + floods + framing + redirects + interim + waits

    static let silence: [Attack] = [
        Attack("hangs before it reads", backOff, moment: .connection, isTimed: true) { connection, _ in
            try connection.waitForClose()
        },
        Attack("hangs before the head", backOff, isTimed: true) { connection, _ in try connection.waitForClose() },
        Attack("hangs in the middle of the head", backOff, response: "HTTP/1.1 200 OK\r\nContent-Le", then: .hangs),
        Attack(
            "hangs in the middle of the body", backOff, response: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12",
            then: .hangs),
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
        Attack(
            "closes in the middle of the head", backOff, response: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n",
            then: .ends),
        Attack(
            "closes in the middle of the body", backOff, response: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12",
            then: .ends),
        Attack("writes garbage", backOff) { connection, _ in
            try connection.write([0, 1, 2, 0xFF, 0xFE, 13, 10, 13, 10])
            connection.end()
        },
        Attack("writes something like HTTP", backOff, response: "HTTP/1.1 2OO OK\r\n\r\n", then: .ends),
        // libcurl may repeat such a request over a new connection, where the server behaves.
        Attack("closes a connection that it has kept", .delivered, backOffAfterAcceptance, moment: .reuse) {
            connection, _ in
            connection.end()
        },
        Attack("resets a connection that it has kept", .delivered, backOffAfterAcceptance, moment: .reuse) {
            connection, _ in
            try connection.reset()
        },
        Attack("hangs on a connection that it has kept", backOffAfterAcceptance, moment: .reuse, isTimed: true) {
            connection, _ in
            try connection.waitForClose()
        },
    ]

    static let floods: [Attack] = [
        Attack("responds with 200 and a length of 2 GB that the format ignores", .delivered) { connection, _ in
            try connection.flood()
        },
        Attack(
            "responds with 200 and a length of 2 GB that the format must read", backOff, format: .otlp(service: "s")
        ) {
            connection, _ in
            try connection.flood()
        },
        Attack(
            "a head of 3 MB in one line", backOff,
            response: "HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 3_000_000) + "\r\n\r\n"),
        Attack(
            "a head of 3 MB in many lines", backOff,
            response: "HTTP/1.1 200 OK\r\n" + String(repeating: "X: xxxxxxxx\r\n", count: 240_000) + "\r\n"),
    ]

    /// libcurl takes such responses without a limit.
    static let framing: [Attack] = [("0\r\n", "X: 1\r\n"), ("2;", "x=y;"), ("0", "0")].map { beginning, piece in
        Attack("chunks that repeat \(piece.debugDescription) after \(beginning.debugDescription)", backOff) {
            connection, _ in
            try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + beginning)
            let pieces = String(repeating: piece, count: 4_096)
            while true { try connection.write(pieces) }
        }
    }

    static let redirects: [Attack] = [301, 302, 303, 307, 308].flatMap { status in
        [("to another server", \Server.Surroundings.other), ("to itself, in a loop", \.own)].map { name, place in
            Attack("\(status) \(name)", .held) { connection, surroundings in
                try connection.write(
                    "HTTP/1.1 \(status) Go\r\nLocation: \(surroundings[keyPath: place])\r\nContent-Length: 0\r\n\r\n")
            }
        }
    }

    private static let goOn = "HTTP/1.1 100 Continue\r\n\r\n"

    static let interim: [Attack] = [
        Attack("100 that wasn't requested, then 200", .delivered, response: goOn + HTTPResponse.ok),
        Attack("100 ten times, then 200", .delivered, response: String(repeating: goOn, count: 10) + HTTPResponse.ok),
        Attack("100 before the body is read, then 503", backOff) { connection, _ in
            try connection.write(goOn)
            try connection.write("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
        },
        Attack("100, then nothing", backOff, response: goOn, then: .hangs),
        Attack("100, then the end", backOff, response: goOn, then: .ends),
        Attack(
            "100 with a length, then 200", .delivered, backOff,
            response: "HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\n" + HTTPResponse.ok, then: .ends),
        Attack("100, then garbage", backOff, response: goOn + "nonsense\r\n\r\n", then: .ends),
        Attack(
            "101 to a protocol that wasn't requested, then 200", backOff,
            response: "HTTP/1.1 101 Switching\r\nUpgrade: tls\r\n\r\n" + HTTPResponse.ok, then: .ends),
    ]

    /// A `Retry-After`, and the seconds to wait at least; nil if it is invalid.
    private static let retryAfter: [(text: String, seconds: Int?)] = [
        ("30", 30), ("0", 0), ("Thu, 01 Jan 2026 00:01:00 GMT", 60), ("Wed, 31 Dec 2025 00:00:00 GMT", 0),
        ("Fri, 01 Jan 2027 00:00:00 GMT", 3_600), ("-5", nil), ("1000000000", 3_600),
        ("99999999999999999999999", 3_600), ("soon", nil), ("", nil), ("1.5", nil), ("1e3", nil), ("NaN", nil),
    ]

    static let waits: [Attack] = [429, 503].flatMap { status in
        retryAfter.map { text, seconds in
            Attack(
                "\(status) with Retry-After: \(text)", .retried(after: 550 + (seconds ?? 0) * 1_000),
                response: "HTTP/1.1 \(status) Later\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nRetry-After: \(text)\r\n"
                    + "Content-Length: 0\r\n\r\n")
        }
    }

    /// Every status of a full run, otherwise those that are in use, and their expected results.
    static let statuses: [Attack] = (200...599).filter { Trials.isFull || $0 % 100 < 32 }.map { status in
        let fate: Fate =
            switch status {
            case 200...299: .delivered
            case 408, 425, 429, 500...: backOff
            default: .held
            }
        return Attack("\(status)", fate, response: "HTTP/1.1 \(status) Odd\r\nContent-Length: 0\r\n\r\n")
    }
}

extension Connection {
    /// Announces 2 GB, and writes until the client closes.
    fileprivate func flood() throws {
        try write("HTTP/1.1 200 OK\r\nContent-Length: 2147483648\r\n\r\n")
        try flood([UInt8](repeating: UInt8(ascii: "x"), count: 65_536))
    }
}
