import HTTPTestSupport
import Sluice
import Testing

@testable import SluiceHTTP

@Suite("Signatures of requests")
struct SigningTests {
    /// Tokens that an actor hands out, as a cache over a network does.
    private actor Tokens {
        private var tokens: [String]
        private(set) var refusals: [Bool] = []

        init(_ tokens: String...) {
            self.tokens = tokens
        }

        func token(isRefused: Bool) -> String {
            refusals.append(isRefused)
            if isRefused, tokens.count > 1 { tokens.removeFirst() }
            return tokens[0]
        }
    }

    /// A client that accepts one token.
    private static func client(accepting token: String) -> KeepingClient {
        KeepingClient { request, _ in HTTPResponse(status: request.header("X-Token") == token ? 200 : 401) }
    }

    private static func send(_ client: KeepingClient, _ tokens: Tokens) async throws -> [Fate] {
        let transport = HTTPTransport(
            to: "https://h",
            configuration: .init(client: client) { request in
                request.setHeader("X-Token", await tokens.token(isRefused: request.wasUnauthorized))
            })
        return try await transport.send(.small).fates(of: 1)
    }

    @Test("a signature can wait for its token")
    func signatureWaits() async throws {
        let server = Self.client(accepting: "a")
        let tokens = Tokens("a")
        #expect(try await Self.send(server, tokens) == [.accepted])
        #expect(server.requests.count == 1)
        #expect(await tokens.refusals == [false])
    }

    @Test("a 401 with a fresh token is tried once, immediately")
    func freshTokenIsTried() async throws {
        let server = Self.client(accepting: "b")
        let tokens = Tokens("a", "b")
        #expect(try await Self.send(server, tokens) == [.accepted])
        try #require(server.requests.map { $0.header("X-Token") } == ["a", "b"])
        #expect(server.requests[0].body == server.requests[1].body)
        #expect(await tokens.refusals == [false, true])
    }

    @Test("the same token isn't tried a second time, and a fresh one that is refused too holds the route")
    func refusedTokensHold() async throws {
        let same = Self.client(accepting: "b")
        #expect(try await Self.send(same, Tokens("a")) == [.hold])
        #expect(same.requests.count == 1)
        let fresh = Self.client(accepting: "d")
        #expect(try await Self.send(fresh, Tokens("a", "b", "c")) == [.hold])
        #expect(fresh.requests.map { $0.header("X-Token") } == ["a", "b"])
    }

    @Test("without a signature, a 401 is not repeated")
    func unsignedIsNotRepeated() async throws {
        let server = Self.client(accepting: "a")
        #expect(try await server.transport().send(.small).fates(of: 1) == [.hold])
        #expect(server.requests.count == 1)
    }

    @Test(
        "a key, a token or a region that can't be one holds the route before the request is sent",
        arguments: [
            ("accessKey", "", "s", nil, "r"), ("accessKey", "\u{E9}", "s", nil, "r"),
            ("accessKey", "a b", "s", nil, "r"),
            ("secretKey", "a", "s\n", nil, "r"), ("sessionToken", "a", "s", "\u{FEFF}t", "r"),
            ("region", "a", "s", "t", "-"),
        ] as [(String, String, String, String?, String)])
    func wrongKeysHold(name: String, access: String, secret: String, token: String?, region: String) async throws {
        let client = KeepingClient()
        let transport = HTTPTransport(
            to: "https://h",
            configuration: .init(
                client: client,
                sign: { request in
                    request.signForAWS(
                        accessKey: access, secretKey: secret, sessionToken: token, region: region, service: "kinesis")
                }))
        try transport.open(in: PipelineEnvironment())
        let verdicts = try await transport.send(.small)
        #expect(verdicts.fates(of: 1) == [.hold] && client.requests.isEmpty)
        guard case .all(let verdict) = verdicts.kind else { return }
        #expect(verdict.reason.contains("the argument \(name) "))
    }
}
