import Sluice
import SluiceMemory
import Testing

@testable import SluiceHTTP

@Suite("Keys, tokens and passwords are never printed", .timeLimit(.minutes(10)))
struct SecrecyTests {
    /// All that Swift can make a text of, and what a debugger sees.
    static func texts(of value: some Any) -> String {
        var dumped = ""
        dump(value, to: &dumped)
        return "\(value)\n" + String(reflecting: value) + "\n" + dumped
            + Mirror(reflecting: value).children.map { "\($0)" }.joined()
    }

    static let secret = FormatSample.secret
    /// As it stands in a header of Basic authorization too.
    static let needles = [secret, "\(secret):".base64, "svc:\(secret)".base64]

    static func expectNothing(in text: String, _ location: SourceLocation = #_sourceLocation) {
        for needle in needles {
            #expect(!text.contains(needle), sourceLocation: location)
        }
    }

    @Test("a format, a transport and a request", arguments: FormatSample.all)
    func values(sample: FormatSample) throws {
        let transport = HTTPTransport(
            to: sample.url + "?key=\(Self.secret)", format: sample.format, headers: ["Authorization": Self.secret]
        ) { $0.setHeader("X", FormatSample.secret) }
        var request = try sample.request(.allKinds())
        request.setHeader("Authorization", Self.secret)
        request.url += Self.secret
        Self.expectNothing(in: Self.texts(of: sample.format))
        Self.expectNothing(in: Self.texts(of: transport))
        Self.expectNothing(in: Self.texts(of: request))
        Self.expectNothing(in: Self.texts(of: [request as Any, transport as Any, sample.format as Any]))
        #expect("\(transport)".contains("Format"))
    }

    @Test("verdicts on answers that repeat the secret", arguments: FormatSample.all)
    func verdicts(sample: FormatSample) throws {
        let bodies = [
            Self.secret, "Code: 27. DB::Exception: \(Self.secret)", AnswerTables.items(201, 400, 403),
            AnswerTables.items(400, 400, 400), AnswerTables.failed(#"{"index":0,"message":"\#(Self.secret)"}"#),
            #"{"silenced_events":[0],"error":"\#(Self.secret)"}"#,
            #"{"partialSuccess":{"rejectedLogRecords":1,"errorMessage":"\#(Self.secret)"}}"#,
            #"{"status":1,"quota_limited":["events","\#(Self.secret)"]}"#,
            #"{"offsets":[{"offset":1},{"error_code":1,"error":"\#(Self.secret)"},{"error_code":2}]}"#,
            #"{"error_code":200}{"error_code":400,"message":"\#(Self.secret)"}{"error_code":401}"#,
        ]
        for status in [200, 202, 204, 207, 260, 301, 400, 401, 403, 404, 413, 415, 422, 429, 500, 999] {
            for body in bodies {
                let answer = HTTPAnswer(
                    status: status, headers: [("X-Echo", Self.secret), ("Retry-After", Self.secret)],
                    body: Array(body.utf8))
                Self.expectNothing(in: Self.texts(of: try sample.format.classify(answer, .allKinds())))
                Self.expectNothing(in: Self.texts(of: answer))
            }
        }
    }

    @Test("errors of a request that cannot be made, and of one that fails", arguments: FormatSample.all)
    func errors(sample: FormatSample) async throws {
        let port = try Socket.unusedPort()
        for (url, headers) in [
            ("http://127.0.0.1:\(port)/\(Self.secret)", ["Authorization": Self.secret]),
            ("http://host/?\(Self.secret) ", [:]), ("http://host/", ["X-Key": Self.secret + "\n"]),
            ("http://\(Self.secret)@host/", [:]),
        ] as [(String, [String: String])] {
            let transport = HTTPTransport(to: url, format: sample.format, headers: headers, deadlines: .short)
            do {
                try transport.open()
                _ = try await transport.send(.allKinds())
                Issue.record("nothing was thrown")
            } catch {
                Self.expectNothing(in: Self.texts(of: error))
            }
        }
    }

    @Test("what a pipeline tells of its deliveries", arguments: FormatSample.all)
    func pipeline(sample: FormatSample) async throws {
        let told = Locked<[String]>([])
        let body = Array(AnswerTables.items(400).utf8) + Array(Self.secret.utf8)
        for status in [200, 400, 401, 302] {
            let client = KeepingClient(answering: HTTPAnswer(status: status, body: body))
            let pipeline = try Pipeline(
                onDiagnostic: { diagnostic in told.withLock { $0.append(Self.texts(of: diagnostic)) } }
            ) {
                MemoryStore()
                HTTPTransport(
                    to: sample.url, format: sample.format, headers: ["X-Key": Self.secret], deadlines: .short,
                    client: client)
            }
            pipeline.track("Event")
            let ledger = await pipeline.shutdown(deadline: .seconds(5))
            Self.expectNothing(in: Self.texts(of: ledger))
            Self.expectNothing(in: Self.texts(of: pipeline))
        }
        Self.expectNothing(in: told.withLock { $0.joined() })
    }
}
