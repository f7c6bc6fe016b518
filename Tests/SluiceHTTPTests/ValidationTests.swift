import HTTPTestSupport
import Sluice
import SluiceMemory
import Testing

@testable import SluiceHTTP

@Suite("Validation before sending", .serialized)
struct ValidationTests {
    static let wrongURLs = [
        "", " ", "http", "http:", "http:/", "http://", "https://", "http:///path", "http:////host/", "//host/",
        "host", "host:80", "/path", "ftp://host/", "file:///etc/passwd", "javascript:alert(1)", "httpx://host/",
        "http:host", "http:\\\\host", " http://host/", "http://host/ ", "http://ho st/", "http://host/a b",
        "http://host/\r\nX-Injected: 1", "http://host/\n", "http://host/\r", "http://host/\t", "http://host/\u{0}",
        "http://host\r\n/", "http://host/?q=\r\n\r\nGET / HTTP/1.1", "http://host/\u{7F}", "http://höst/",
        "http://host/é", "http://host/\u{2028}", "http://user@host/", "http://user:secret@host/", "http://:@host/",
        "http://@host/", "http://host@/", "http://host\\@other/", "http://host/a\\b", "http://host#secret",
        "http://host/#f", "http://host:/", "http://host:0/", "http://host:65536/", "http://host:-1/", "http://host:+1/",
        "http://host:80a/", "http://host:80:80/", "http://host:99999999999999999999/", "http://:80/", "http://?q",
        "http://[::1/", "http://::1/", "http://[]/", "http://[x]/", "http://[::1]x/", "http://[fe80::1%25eth0]/",
        "http://[::1]:x/", "http://a[b]/", "http://./", "http://../", "http://-/",
        "http://ho<st/", "http://ho\"st/", "http://ho,st/", "http://ho%0d%0ast/", "http://host%00/", "http://%/",
    ]

    @Test("an invalid URL throws when the transport is opened", arguments: wrongURLs)
    func invalidURLThrowsAtOpen(url: String) {
        let error = #expect(throws: SluiceError.self) { try HTTPTransport(to: url).open(in: PipelineEnvironment()) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.hasPrefix("the URL ") == true)
        #expect(error?.message.contains("secret") == false)
    }

    @Test(
        "the message says what is wrong",
        arguments: [
            (" http://host/", ["a space", "%20"]), ("http://host/ ", ["a space", "%20"]),
            ("http://host/a b", ["a space", "%20"]), ("ftp://host/", ["https://"]),
        ])
    func messageIsAdvice(url: String, words: [String]) {
        let error = #expect(throws: SluiceError.self) { try HTTPTransport(to: url).open(in: PipelineEnvironment()) }
        #expect(words.allSatisfy { error?.message.contains($0) == true })
    }

    static let rightURLs = [
        "http://host", "https://host", "HTTP://HOST/", "Https://host/", "http://host:1/", "http://host:65535/",
        "http://host:0080/", "http://127.0.0.1/", "http://[::1]/", "http://[::1]:8080/", "http://[fe80::1]/",
        "http://a-b.c_d.example./path/../x", "http://host?q", "http://host?a@b", "http://host/a@b:c", "http://host/?",
        "http://host/%0D%0A", "http://host/?a=%20&b=[]{}|^`'\"<>", "https://bücher.example".replacing("ü", with: "u"),
    ]

    @Test("a valid URL is accepted", arguments: rightURLs)
    func validURLOpens(url: String) throws {
        try HTTPTransport(to: url).open(in: PipelineEnvironment())
    }

    static let wrongHeaders: [(String, String)] = [
        ("", "1"), (" ", "1"), ("X Y", "1"), ("X:", "1"), ("X:Y", "1"), ("X\r\nY", "1"), ("X\n", "1"), ("X;", "1"),
        ("X\u{0}", "1"), ("É", "1"), ("X\t", "1"), ("(X)", "1"), ("X", "1\r\nY: 2"), ("X", "1\n"), ("X", "1\r"),
        ("X", "\u{0}"), ("X", "a\u{0}b"), ("X", "\u{1B}[1m"), ("X", "\u{7F}"), ("Content-Length", "0"),
        ("content-length", "0"), ("Transfer-Encoding", "chunked"), ("Connection", "close"), ("Expect", "100-continue"),
        ("TE", "trailers"), ("Trailer", "X"), ("Upgrade", "h2c"), ("X", "Bearer x\u{FEFF}"), ("X", "\u{FEFF}Bearer x"),
        ("X", "Bearer x "), ("X", "Bearer x\u{A0}"), ("X", "Bearer \u{200B}"), ("X", "Bearer "), ("X", " "),
        ("X", "a\t"), ("X", "\ta"), ("X", "\t"), ("Host", "host:81"), ("Host", "host/"), ("Host", "other.example"),
        ("X", "a\u{85}b"), ("X", "\u{2028}a"), ("X", "\u{3164}"), ("Host", "a b"), ("Host", ""), ("host", "a"),
    ]

    static let doubleHeaders = [
        ["X-A": "1", "x-a": "2"], ["Authorization": "a", "AUTHORIZATION": "a"], ["A": "", "a": "", "B": ""],
    ]

    @Test(
        "an invalid header, one of the client's own, and one that is given twice throw when the transport is opened",
        arguments: wrongHeaders.map { [$0.0: $0.1] } + doubleHeaders)
    func invalidHeadersThrowAtOpen(headers: [String: String]) {
        let error = #expect(throws: SluiceError.self) {
            try HTTPTransport(to: "http://host/", headers: headers).open(in: PipelineEnvironment())
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains("header") == true)
    }

    @Test("an invalid header of a signature holds the route before the request is sent", arguments: wrongHeaders)
    func invalidHeaderOfSignatureHolds(name: String, value: String) async throws {
        let server = try Server(responding: HTTPResponse.ok)
        let transport = try openTransport(to: server.url) { $0.headers.append((name, value)) }
        #expect(try await transport.send(.small).fates(of: 1) == [.hold])
        #expect(server.connectionCount == 0)
    }

    @Test("a request that no retry can mend is reported as an error, not as a retry")
    func invalidRequestIsError() async throws {
        let told = Arrivals<Diagnostic>()
        let client = KeepingClient()
        let pipeline = try Pipeline(onDiagnostic: told.add) {
            MemoryStore()
            client.transport { $0.setHeader("X-Token", "t\n") }
        }
        pipeline.track("Event")
        await pipeline.flush()
        #expect(told.all.map(\.kind) == [.paused] && told.all.map(\.severity) == [.error])
        #expect(pipeline.ledger.routes[0].waiting == 1 && client.requests.isEmpty)
        await pipeline.shutdown(timeout: .zero)
    }

    @Test(
        "an invalid URL or method of a signature holds the route before the request is sent",
        arguments: ["", "GET /", "POST\r\nX: 1", "P\u{0}ST", "PÖST"])
    func invalidMethodOfSignatureHolds(method: String) async throws {
        let server = try Server(responding: HTTPResponse.ok)
        for sign: @Sendable (inout HTTPRequest) -> Void in [
            { $0.method = method }, { $0.url += "\r\nX-Injected: \(method)" },
        ] {
            let transport = try openTransport(to: server.url, sign: sign)
            #expect(try await transport.send(.small).fates(of: 1) == [.hold])
        }
        #expect(server.connectionCount == 0)
    }

    @Test("a header's value can be empty, and contain any other characters")
    func otherCharactersAreAccepted() throws {
        let headers = ["X": "", "Y": "\u{1F468}\u{200D}\u{1F469} x", "Z": "a\tb"]
        try HTTPTransport(to: "http://host", headers: headers).open(in: PipelineEnvironment())
    }

    @Test(
        "the header Host can name the server of the URL",
        arguments: [
            ("https://api.example.com", "api.example.com"), ("https://api.example.com:443/x?y", "API.example.com"),
            ("http://[::1]:8080/", "[::1]:8080"), ("HTTP://h/a", "h:80"), ("http://h:443", "h:443"),
        ])
    func hostOfSignatureIsAccepted(url: String, host: String) async throws {
        let client = KeepingClient()
        let transport = client.transport(to: url) { $0.setHeader("host", host) }
        #expect(try await transport.send(.small).fates(of: 1) == [.accepted])
        #expect(client.requests.map { $0.header("Host") } == [host])
    }

    @Test(
        "invalid timeouts throw when the transport is opened",
        arguments: [.zero, .seconds(-1), .nanoseconds(-1), .seconds(Int64.min)] as [Duration])
    func invalidTimeoutsThrow(duration: Duration) {
        for timeouts in [HTTPTimeouts(connect: duration), HTTPTimeouts(total: duration)] {
            let error = #expect(throws: SluiceError.self) {
                try HTTPTransport(to: "http://host/", configuration: .init(timeouts)).open(in: PipelineEnvironment())
            }
            #expect(error?.code == .invalidArgument)
        }
    }

    @Test(
        "timeouts are rounded up to whole milliseconds and never 0, which would disable them",
        arguments: [
            (.nanoseconds(1), 1), (.milliseconds(1), 1), (.microseconds(1_001), 2), (.seconds(30), 30_000),
            (.milliseconds(1_500), 1_500), (.seconds(Int64.max), 2_000_000_000), (.seconds(Int64.min), 1), (.zero, 1),
        ] as [(Duration, Int)])
    func timeoutsAreWholeMilliseconds(duration: Duration, milliseconds: Int) {
        #expect(duration.timerMilliseconds == milliseconds)
    }
}
