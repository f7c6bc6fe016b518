import Foundation
import SluiceTesting
import TestSupport
import Testing

/// The AccessLog example against an independent reading of the same log: Foundation's JSON reader for the events, a
/// regular expression for the lines.
@Suite struct AccessLogTests {
    /// Real lines of a public web server, which lie beside the working copy where the project is developed.
    static let realLog = Repository.root.deletingLastPathComponent().appending(path: "shared/data/access.log")

    static let hasRealLog = FileManager.default.fileExists(atPath: realLog.path)

    /// Odd lines: an escaped quote, bytes as escapes, raw bytes that are not UTF-8, a cut last field,
    /// no size, a user, another time zone, an invalid request, a leap day, a carriage return.
    static let oddLines: [[UInt8]] = [
        Array(#"1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 203023 "http://x/" "Moz\"illa\\""#.utf8),
        Array(#"1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 5 "http://\xe4\xe5.\xf0/" "b""#.utf8),
        Array(#"::1 - - [29/Feb/2016:23:59:59 -0730] "-" 408 - "-" "-""#.utf8),
        Array(#"h.example - frank [31/Dec/1999:23:59:59 +0100] "GET /ä/€ HTTP/1.0" 304 0 "-" "ü""#.utf8) + [0x0D],
        Array(#"1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET /"#.utf8) + [0xE4, 0xFF]
            + Array(#" HTTP/1.1" 200 1 "-" "-""#.utf8),
        Array(#"1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET /x HTTP/1.1" 200 235 "-" "cut off in the midd"#.utf8),
    ]

    static let strangeLines = [
        "", "hello", #"1.2.3.4 - - [17/Foo/2015:10:05:03 +0000] "GET" 200 1 "-" "-""#,
        #"Nov 29 07:00:00 web nginx: 1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET" 200 1 "-" "-""#,
    ]

    @Test(
        "10,000 real lines are delivered once, in order, field by field",
        .enabled(if: hasRealLog, "needs the real log at ../shared/data/access.log"))
    func realLinesAreDeliveredOnceInOrder() async throws {
        let result = try await Program.run("AccessLog", [Self.realLog.path, "--to", "stdout"])
        #expect(result.status == 0, "\(result.errors)")
        let log = try Data(contentsOf: Self.realLog).split(separator: UInt8(ascii: "\n")).map { Array($0) }
        #expect(log.count == 10_000)
        try compare(result.lines, with: log)
        #expect(result.errors.contains("10000 lines: 10000 events, 0 not understood"))
    }

    @Test(
        "the same lines pass through a store on disk, which is empty afterwards",
        .enabled(if: hasRealLog, "needs the real log at ../shared/data/access.log"))
    func realLinesPassThroughDiskStore() async throws {
        let directory = TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let store = directory.url.appending(path: "store").path
        let log = try Data(contentsOf: Self.realLog)
        let result = try await Program.run("AccessLog", ["-", "--store", store], input: log)
        #expect(result.status == 0, "\(result.errors)")
        try compare(result.lines, with: log.split(separator: 10).map { Array($0) })
        let again = try await Program.run("AccessLog", ["-", "--store", store])
        #expect(again.status == 0 && again.lines.isEmpty, "\(again.errors)")
    }

    @Test("odd lines are delivered field by field, invalid ones are counted and printed")
    func oddLinesAreDeliveredAndInvalidOnesCounted() async throws {
        let strange = Self.strangeLines.map { Array($0.utf8) }
        let input = Data((Self.oddLines + strange).joined(separator: [0x0A]))
        let result = try await Program.run("AccessLog", ["-"], input: input)
        #expect(result.status == 0, "\(result.errors)")
        try compare(result.lines, with: Self.oddLines)
        #expect(result.errors.contains("10 lines: 6 events, 4 not understood"))
        #expect(result.errors.contains("line 8 is not in a format of access logs: hello"))
    }

    @Test(
        "a line with an impossible time zone is reported, and doesn't end the program",
        arguments: [
            "+9223372036854775807", "-9223372036854775808", "+99999999999999999999", "+2400", "+0060", "0000", "+000",
            "+00000", "+0x10", "",
        ])
    func impossibleTimeZonesAreReported(zone: String) async throws {
        let line = "1.2.3.4 - - [17/May/2015:10:05:03 \(zone)] \"GET / HTTP/1.1\" 200 5 \"-\" \"-\""
        let result = try await Program.run("AccessLog", ["-"], input: Data(Self.oddLines[0] + [0x0A] + line.utf8))
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.errors.contains("line 2 is not in a format of access logs: \(line)"))
        try compare(result.lines, with: [Self.oddLines[0]])
    }

    /// A line, and the properties that it has besides those of the combined format.
    struct Format: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let line: String
        let properties: [String: String]
        var client = "203.0.113.7"
    }

    private static let start = #"203.0.113.7 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 612"#

    static let formats: [Format] = [
        Format(testDescription: "nginx main", line: #"\#(start) "-" "Mozilla/5.0 (X11)" "-""#, properties: [:]),
        Format(
            testDescription: "nginx main behind a proxy",
            line: #"\#(start) "-" "curl/8.5" "198.51.100.4, 10.0.0.1""#,
            properties: ["forwarded_for": "198.51.100.4, 10.0.0.1"]),
        Format(testDescription: "combined", line: #"\#(start) "http://a/" "curl/8.5""#, properties: [:]),
        Format(testDescription: "common", line: start, properties: [:]),
        Format(testDescription: "combined with CR", line: "\(start) \"-\" \"-\"\r", properties: [:]),
        Format(
            testDescription: "vhost_combined of Apache", line: #"shop.example:443 \#(start) "-" "curl/8.5""#,
            properties: ["host": "shop.example:443"]),
        Format(
            testDescription: "combinedio of Apache", line: #"\#(start) "-" "curl/8.5" 120 845"#,
            properties: ["more": "120|845"]),
        Format(
            testDescription: "Traefik", line: #"\#(start) "-" "-" 1 "web@docker" "http://10.0.0.2:80" 2ms"#,
            properties: ["more": "1|web@docker|http://10.0.0.2:80|2ms"]),
        Format(
            testDescription: "ingress-nginx",
            line: #"\#(start) "-" "curl/8.5" 83 0.004 [default-shop-80] [] 10.1.0.4:80 612 0.004 200 1f2e"#,
            properties: ["more": "83|0.004|default-shop-80||10.1.0.4:80|612|0.004|200|1f2e"]),
        Format(
            testDescription: "a cut last field", line: #"\#(start) "-" "curl/8.5" "198.51.1"#,
            properties: ["more": "198.51.1"]),
        Format(
            testDescription: "IPv6 behind a proxy", line: #"\#(start) "-" "-" "2001:db8::7, ::ffff:10.0.0.1"#,
            properties: ["forwarded_for": "2001:db8::7, ::ffff:10.0.0.1"]),
        Format(
            testDescription: "names before values", line: #"\#(start) "-" "-" rt=0.003 uct="0.000" urt="0.1, 0.2" cs="#,
            properties: ["more": "rt=0.003|uct=0.000|urt=0.1, 0.2|cs="]),
        Format(
            testDescription: "a cut value", line: #"\#(start) "-" "-" [a b] x="1 2"#,
            properties: ["more": "a b|x=1 2"]),
        Format(testDescription: "an escaped quote at the end", line: #"\#(start) "-" "a \"b\"" "-""#, properties: [:]),
        Format(
            testDescription: "a user with a blank",
            line: start.replacingOccurrences(of: "- - [", with: "- John Smith ["), properties: ["user": "John Smith"]),
        Format(
            testDescription: "a user with two blanks and a dash",
            line: start.replacingOccurrences(of: "- - [", with: "- Ann  Lee - ["), properties: ["user": "Ann  Lee -"]),
        Format(
            testDescription: "a user with an identity",
            line: start.replacingOccurrences(of: "- - [", with: "bob ann ["), properties: ["user": "ann"]),
        Format(
            testDescription: "a user with blanks at a host",
            line: "shop.example:443 " + start.replacingOccurrences(of: "- - [", with: "- - - x ["),
            properties: ["host": "shop.example:443", "user": "- - x"]),
        named("Smith, John"), named("a [b"), named("[x] y"), named("[only]"),
        named("[17/May/2014:10:05:03 +0000] ann,"), named(#"a\x22] \" [b"#),
        Format(
            testDescription: "a list of two clients", line: listed("198.51.100.4, 10.0.0.1"),
            properties: ["forwarded_for": "198.51.100.4, 10.0.0.1"], client: "198.51.100.4"),
        Format(
            testDescription: "a list of three clients at a host",
            line: "shop.example:443 " + listed("2001:db8::7, ::1, 10.1.1.1"),
            properties: ["forwarded_for": "2001:db8::7, ::1, 10.1.1.1", "host": "shop.example:443"],
            client: "2001:db8::7"),
        Format(
            testDescription: "a list without blanks, and a user with some",
            line: listed("10.9.8.7,10.0.0.2").replacingOccurrences(of: "- - [", with: "- Ann, Lee ["),
            properties: ["forwarded_for": "10.9.8.7,10.0.0.2", "user": "Ann, Lee"], client: "10.9.8.7"),
        Format(
            testDescription: "a host with brackets", line: "[::1]:443 " + listed("::1"),
            properties: ["host": "[::1]:443"], client: "::1"),
        Format(
            testDescription: "IPv6", line: start.replacingOccurrences(of: "203.0.113.7", with: "2001:db8::7"),
            properties: [:], client: "2001:db8::7"),
    ]

    /// A line whose client has the name of a user.
    private static func named(_ user: String) -> Format {
        Format(
            testDescription: "a user \(user)", line: start.replacingOccurrences(of: "- - [", with: "- \(user) ["),
            properties: ["user": user])
    }

    /// A line of other clients.
    private static func listed(_ clients: String) -> String {
        start.replacingOccurrences(of: "203.0.113.7", with: clients)
    }

    /// Single last fields that are no clients.
    static let others = [
        "3.14", "172.18.0.3:8080", "0.003", "shop.example.com", "10.0.0.1 10.0.0.2", "", "2001:db8::7, x",
    ]
    .map { Format(testDescription: "a last \($0)", line: #"\#(start) "-" "-" "\#($0)""#, properties: ["more": $0]) }

    @Test("the formats that servers are packaged with are read", arguments: formats + others)
    func packagedFormatsAreRead(row: Format) async throws {
        let result = try await Program.run("AccessLog", ["-"], input: Data(row.line.utf8))
        #expect(result.status == 0, "\(result.errors)")
        let line = try #require(result.lines.first)
        let event = try #require(try JSONSerialization.jsonObject(with: line) as? [String: Any])
        #expect(event["anonymous_id"] as? String == row.client)
        let properties = try #require(event["properties"] as? [String: Any])
        #expect(properties["path"] as? String == "/a" && properties["bytes"] as? Int == 612)
        for name in ["forwarded_for", "host", "user"] { #expect(properties[name] as? String == row.properties[name]) }
        #expect((properties["more"] as? [String])?.joined(separator: "|") == row.properties["more"])
    }

    @Test(
        "a line with a quote in the wrong place is not read",
        arguments: [
            #""-" "Moz"illa""#, #""-" "a" "b"c"#, #""-" "a"b"#, #""-""a""#, #""-""#, #"x "-" "a""#, #""-" "a" b"c"#,
            #""-" "a" x="1"2"#, #""-" "a" x=1"2""#, #""-" "a" "x="1""#,
        ])
    func misplacedQuoteIsReported(end: String) async throws {
        let result = try await Program.run("AccessLog", ["-"], input: Data("\(Self.start) \(end)".utf8))
        #expect(result.status == 65, "\(end): \(result.errors)")
    }

    @Test("a log of which no line is understood ends with a failure")
    func foreignLogFails() async throws {
        let result = try await Program.run("AccessLog", ["-"], input: Data("a\nb\n".utf8))
        #expect(result.status == 65, "\(result.errors)")
        #expect(result.errors.contains("2 lines: 0 events, 2 not understood"))
    }

    @Test("events that can't be delivered wait for the next run")
    func undeliveredEventsWaitForNextRun() async throws {
        let directory = TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let store = directory.url.appending(path: "store").path
        let input = Data(Self.oddLines.joined(separator: [0x0A]))
        // Port 9 is the discard port, where no server listens.
        let arguments = ["-", "--store", store, "--to", "http://127.0.0.1:9"]
        let failed = try await Program.run("AccessLog", arguments, input: input)
        #expect(failed.status == 2, "\(failed.errors)")
        #expect(failed.lines.isEmpty && failed.errors.contains("6 waiting in \(store) for the next run"))
        let next = try await Program.run("AccessLog", ["-", "--store", store])
        #expect(next.status == 0, "\(next.errors)")
        try compare(next.lines, with: Self.oddLines)
    }

    @Test(
        "wrong arguments are refused with a usage line",
        arguments: [
            ["--nonsense"], ["/no/such/file"], ["-", "--to", "gopher://x"], ["-", "--store"],
            ["-", "--store", "/dev/null"],
        ])
    func wrongArgumentsPrintUsage(arguments: [String]) async throws {
        let result = try await Program.run("AccessLog", arguments)
        #expect(result.status == 64)
        #expect(result.errors.contains("usage: AccessLog"))
    }

    @Test("unreadable input ends with a failure")
    func unreadableInputFails() async throws {
        let directory = TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let result = try await Program.run("AccessLog", [directory.path])
        #expect(result.status == 66, "\(result.errors)")
    }

    private func compare(_ output: [Data], with log: [[UInt8]]) throws {
        #expect(output.count == log.count)
        let pattern = try NSRegularExpression(
            pattern:
                #"^(\S+) (\S+) (\S+) \[([^\]]+)\] "((?:[^"\\]|\\.)*)" (\d+) (\S+) "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"?$"#
        )
        let times = DateFormatter()
        times.locale = Locale(identifier: "en_US_POSIX")
        times.dateFormat = "dd/MMM/yyyy:HH:mm:ss Z"
        var ids: Set<String> = []
        for (line, bytes) in zip(output, log) {
            let source = Self.text(bytes)
            let event = try #require(try JSONSerialization.jsonObject(with: line) as? [String: Any])
            let properties = try #require(event["properties"] as? [String: Any])
            let match = try #require(
                pattern.firstMatch(in: source, range: NSRange(source.startIndex..., in: source)), "\(source)")
            let fields = try (1...9).map { String(source[try #require(Range(match.range(at: $0), in: source))]) }
            let words = fields[4].split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
            let time = try #require(times.date(from: fields[3]))

            ids.insert(try #require(event["id"] as? String))
            #expect(event["event"] as? String == "page_view")
            #expect(event["time"] as? Int64 == Int64(time.timeIntervalSince1970) * 1_000, "\(source)")
            #expect(event["anonymous_id"] as? String == fields[0])
            #expect(properties["method"] as? String == words[0])
            #expect(properties["path"] as? String == (words.count > 1 ? words[1] : nil))
            #expect(properties["status"] as? Int == Int(fields[5]))
            #expect(properties["bytes"] as? Int == Int(fields[6]) ?? 0)
            #expect(properties["referrer"] as? String == fields[7])
            #expect(properties["user_agent"] as? String == fields[8])
        }
        #expect(ids.count == output.count, "an id came out twice")
    }

    /// The line as text. If it is not UTF-8, each byte beyond ASCII is escaped as servers do.
    private static func text(_ bytes: [UInt8]) -> String {
        let line = bytes.last == 0x0D ? Array(bytes.dropLast()) : bytes
        if let text = String(data: Data(line), encoding: .utf8) { return text }
        return line.map { $0 < 0x80 ? String(UnicodeScalar($0)) : String(format: "\\x%02X", $0) }.joined()
    }
}
