import Testing

@testable import Inspector

@Suite("Access to the page")
struct AccessRulesTests {
    private let rules = AccessRules.random()

    private func request(_ change: (inout AccessRules.Request) -> Void = { _ in }) -> AccessRules.Request {
        var request = AccessRules.Request(isPost: false, host: "127.0.0.1:4577", origin: nil, token: rules.token)
        change(&request)
        return request
    }

    private func isRefused(_ change: (inout AccessRules.Request) -> Void) -> Bool {
        rules.refusal(of: request(change), port: 4577) != nil
    }

    @Test("The page's own requests are allowed")
    func allowsPage() {
        #expect(!isRefused { _ in })
        #expect(!isRefused { $0.host = "localhost:4577" })
        #expect(!isRefused { $0.origin = "http://127.0.0.1:4577" })
        #expect(
            !isRefused {
                $0.isPost = true
                $0.origin = "http://127.0.0.1:4577"
            })
    }

    @Test("A browser may leave out the port 80")
    func allowsDefaultPort() {
        func isRefused(_ host: String, _ origin: String) -> Bool {
            let own = request {
                $0.isPost = true
                $0.host = host
                $0.origin = origin
            }
            return rules.refusal(of: own, port: 80) != nil
        }
        for host in ["127.0.0.1", "127.0.0.1:80"] {
            for origin in ["http://127.0.0.1", "http://127.0.0.1:80"] { #expect(!isRefused(host, origin)) }
            for origin in ["http://127.0.0.1:4577", "http://localhost", "https://127.0.0.1", "null", ""] {
                #expect(isRefused(host, origin))
            }
        }
        #expect(isRefused("evil.example", "http://evil.example"))
        #expect(isRefused("127.0.0.1:4577", "http://127.0.0.1:4577"))
    }

    @Test("A request needs the token")
    func needsToken() {
        #expect(isRefused { $0.token = nil })
        #expect(isRefused { $0.token = "" })
        #expect(isRefused { $0.token = String(rules.token.dropLast()) })
        #expect(isRefused { $0.token = rules.token + "0" })
        #expect(isRefused { $0.token = AccessRules.random().token })
    }

    @Test("Every token that differs in one character is refused", arguments: 0..<20)
    func refusesChangedCharacters(trial: Int) {
        let rules = AccessRules.random()
        let digits = Array(rules.token.utf8)
        let changed = digits.indices.flatMap { index in
            (UInt8(0)..<128).filter { $0 != digits[index] }.map { character in
                digits[..<index] + [character] + digits[(index + 1)...]
            }
        }
        let accepted = changed.filter { bytes in
            let wrong = request { $0.token = String(decoding: bytes, as: UTF8.self) }
            return rules.refusal(of: wrong, port: 4577) != .wrongToken
        }
        #expect(changed.count == 32 * 127 && accepted.isEmpty)
        #expect(rules.refusal(of: request { $0.token = rules.token }, port: 4577) == nil)
    }

    @Test("10,000 random tokens are refused")
    func refusesRandomTokens() {
        let accepted = (0..<10_000).count { _ in !isRefused { $0.token = AccessRules.random().token } }
        #expect(accepted == 0)
    }

    @Test("A name that resolves to this machine is refused")
    func refusesOtherHosts() {
        for host in [nil, "", "evil.example:4577", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:4577.evil.example"] {
            #expect(isRefused { $0.host = host })
        }
    }

    @Test("A page of another origin is refused", arguments: [false, true])
    func refusesOtherOrigins(isPost: Bool) {
        let origins = [
            "null", "", "https://evil.example", "https://127.0.0.1:4577", "http://127.0.0.1:80",
            "http://localhost:4577",
        ]
        for origin in origins {
            #expect(
                isRefused {
                    $0.isPost = isPost
                    $0.origin = origin
                })
        }
    }

    @Test("A POST needs an origin")
    func postNeedsOrigin() {
        #expect(isRefused { $0.isPost = true })
    }

    @Test("Each token is new, and has 128 bits")
    func tokenIsRandom() {
        let tokens = (0..<100).map { _ in AccessRules.random().token }
        #expect(Set(tokens).count == 100)
        #expect(tokens.allSatisfy { $0.count == 32 })
    }
}
