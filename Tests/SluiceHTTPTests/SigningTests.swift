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

        init(_ tokens: [String]) {
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

    /// The tokens in their order, the accepted one, the ones that are sent, and the result.
    static let rows: [(tokens: [String], accepted: String, sent: [String], fate: Fate)] = [
        (["a"], "a", ["a"], .accepted), (["a", "b"], "b", ["a", "b"], .accepted),
        // The same token isn't tried a second time, and a fresh one that is refused too holds the route.
        (["a"], "b", ["a"], .hold), (["a", "b", "c"], "d", ["a", "b"], .hold),
    ]

    @Test("a signature can wait for its token, and a fresh one is tried once after a 401, immediately", arguments: rows)
    func freshTokenIsTried(row: (tokens: [String], accepted: String, sent: [String], fate: Fate)) async throws {
        let (server, tokens) = (Self.client(accepting: row.accepted), Tokens(row.tokens))
        let transport = server.transport { request in
            request.setHeader("X-Token", await tokens.token(isRefused: request.wasUnauthorized))
        }
        #expect(try await transport.send(.small).fates(of: 1) == [row.fate])
        #expect(server.requests.map { $0.header("X-Token") } == row.sent)
        #expect(Set(server.requests.map(\.body)).count == 1)
        #expect(await tokens.refusals == (row.accepted == row.tokens[0] ? [false] : [false, true]))
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
        let transport = client.transport { request in
            request.signForAWS(
                accessKey: access, secretKey: secret, sessionToken: token, region: region, service: "kinesis")
        }
        let verdicts = try await transport.send(.small)
        #expect(verdicts.fates(of: 1) == [.hold] && client.requests.isEmpty)
        guard case .all(let verdict) = verdicts.kind else { return }
        #expect(verdict.reason.contains("the argument \(name) "))
    }
}
