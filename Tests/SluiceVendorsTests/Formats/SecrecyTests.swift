import HTTPTestSupport
import Sluice
import SluiceMemory
import TestSupport
import Testing

@testable import SluiceHTTP
@testable import SluiceVendors

@Suite("Keys, tokens and passwords are never printed", .serialized)
struct SecrecyTests {
    /// Every text that Swift or a debugger can make of a value.
    static func texts(of value: some Any) -> String {
        var dumped = ""
        dump(value, to: &dumped)
        return "\(value)\n" + String(reflecting: value) + "\n" + dumped
            + Mirror(reflecting: value).children.map { "\($0)" }.joined()
    }

    static let secret = FormatSample.secret
    /// The secret, also as in a header of Basic authorization.
    static let needles = [secret] + ["\(secret):", "svc:\(secret)"].map { HTTPEncoding.base64($0.utf8) }

    static func expectNothing(in text: String, _ location: SourceLocation = #_sourceLocation) {
        for needle in needles {
            #expect(!text.contains(needle), sourceLocation: location)
        }
    }

    @Test("formats, transports and requests print no secret", arguments: FormatSample.all)
    func valuesPrintNoSecret(sample: FormatSample) throws {
        let transport = HTTPTransport(
            to: sample.url + "?key=\(Self.secret)", format: sample.format, headers: ["Authorization": Self.secret],
            configuration: .init(sign: { $0.setHeader("X", FormatSample.secret) }))
        var request = try sample.request(.allKinds())
        request.setHeader("Authorization", Self.secret)
        request.url += Self.secret
        Self.expectNothing(in: Self.texts(of: sample.format))
        Self.expectNothing(in: Self.texts(of: transport))
        Self.expectNothing(in: Self.texts(of: request))
        Self.expectNothing(in: Self.texts(of: [request as Any, transport as Any, sample.format as Any]))
        #expect("\(transport)".contains("Format"))
    }

    @Test("verdicts on responses that repeat the secret don't contain it", arguments: FormatSample.all)
    func verdictsPrintNoSecret(sample: FormatSample) throws {
        let bodies = [
            Self.secret, "Code: 27. DB::Exception: \(Self.secret)", ResponseTables.items(201, 400, 403),
            ResponseTables.items(400, 400, 400), ResponseTables.failed(#"{"index":0,"message":"\#(Self.secret)"}"#),
            #"{"silenced_events":[0],"error":"\#(Self.secret)"}"#,
            #"{"partialSuccess":{"rejectedLogRecords":1,"errorMessage":"\#(Self.secret)"}}"#,
            #"{"status":1,"quota_limited":["events","\#(Self.secret)"]}"#,
            #"{"offsets":[{"offset":1},{"error_code":1,"error":"\#(Self.secret)"},{"error_code":2}]}"#,
            #"{"error_code":200}{"error_code":400,"message":"\#(Self.secret)"}{"error_code":401}"#,
        ]
        for status in [200, 202, 204, 207, 260, 301, 400, 401, 403, 404, 413, 415, 422, 429, 500, 999] {
            for body in bodies {
                let response = HTTPResponse(
                    status: status, headers: [("X-Echo", Self.secret), ("Retry-After", Self.secret)],
                    body: Array(body.utf8))
                Self.expectNothing(in: Self.texts(of: try sample.wire.verdicts(for: .allKinds(), from: response)))
                Self.expectNothing(in: Self.texts(of: response))
            }
        }
    }

    @Test("errors of invalid and failed requests contain no secret", arguments: FormatSample.all)
    func errorsPrintNoSecret(sample: FormatSample) async throws {
        for (url, headers) in [
            ("http://127.0.0.1:9/\(Self.secret)", ["Authorization": Self.secret]),
            ("http://host/?\(Self.secret) ", [:]), ("http://host/", ["X-Key": Self.secret + "\n"]),
            ("http://\(Self.secret)@host/", [:]),
        ] as [(String, [String: String])] {
            let transport = HTTPTransport(
                to: url, format: sample.format, headers: headers,
                configuration: .init(connectTimeout: .milliseconds(100)))
            do {
                try transport.open(in: PipelineEnvironment())
                _ = try await transport.send(.allKinds())
                Issue.record("nothing was thrown")
            } catch {
                Self.expectNothing(in: Self.texts(of: error))
            }
        }
    }

    @Test("a pipeline's diagnostics and ledger contain no secret", arguments: FormatSample.all)
    func diagnosticsPrintNoSecret(sample: FormatSample) async throws {
        let told = Locked<[String]>([])
        let body = Array(ResponseTables.items(400).utf8) + Array(Self.secret.utf8)
        for status in [200, 400, 401, 302] {
            let client = KeepingClient(responding: HTTPResponse(status: status, body: body))
            let pipeline = try Pipeline(
                onDiagnostic: { diagnostic in told.withLock { $0.append(Self.texts(of: diagnostic)) } }
            ) {
                MemoryStore()
                HTTPTransport(
                    to: sample.url, format: sample.format, headers: ["X-Key": Self.secret],
                    configuration: .init(client: client))
            }
            pipeline.track("Event")
            await pipeline.flush()
            let ledger = await pipeline.shutdown(timeout: .zero)
            Self.expectNothing(in: Self.texts(of: ledger))
            Self.expectNothing(in: Self.texts(of: pipeline))
        }
        Self.expectNothing(in: told.withLock { $0.joined() })
    }
}
