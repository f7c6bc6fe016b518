import ArgumentParser
import Foundation
import StoreFiles
import Testing

@testable import Inspector

@Suite("Headers and keys")
struct SecretsTests {
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
    }

    private func file(_ text: String) throws -> String {
        let path = "\(folder.path)/secret"
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        return path
    }

    @Test("Headers come from arguments, a file and the environment")
    func readsHeaders() throws {
        let path = try file("Authorization: Bearer a\r\n\n  \nX-Key: b\n")
        let secrets = try Secrets.parse(["--header", "X-Shop: 7", "--header-file", path])
        #expect(
            try secrets.headers(["SLUICE_HEADERS": "Cookie: c\nX-Last: d"])
                == ["X-Shop: 7", "Authorization: Bearer a", "X-Key: b", "Cookie: c", "X-Last: d"])
        #expect(try Secrets.parse([]).headers([:]) == [])
    }

    @Test(
        "A header that is given twice is refused, because one of its values would be lost",
        arguments: ["X-Shop: 7", "X-Shop:8", "x-shop: 9"])
    func refusesRepetition(header: String) throws {
        let error = #expect(throws: ValidationError.self) {
            try Destination(url: "http://127.0.0.1/", format: "ndjson", headers: ["X-Shop: 7", "X-Other: 7", header])
        }
        let message = try #require(error).message
        let differsInCase = header.hasPrefix("x")
        #expect(
            message.hasPrefix(
                differsInCase ? "two headers differ only in the case" : "the header X-Shop is given twice"))
    }

    @Test(
        "serve refuses a header or a key without a backend",
        arguments: [["--header", "X-Shop: 7"], ["--header-file", "/no/such"], ["--key-file", "/no/such"]])
    func refusesUnusedSecrets(arguments: [String]) throws {
        let error = try #require(throws: (any Error).self) {
            try SluiceCommand.parseAsRoot(["serve", "/no/such"] + arguments)
        }
        #expect(SluiceCommand.message(for: error).contains("are for --to and --format"))
        _ = try SluiceCommand.parseAsRoot(["serve", "/no/such"])
    }

    @Test("The key comes from a file or the environment")
    func readsKey() throws {
        let path = try file(" abc\n")
        #expect(try Secrets.parse(["--key-file", path]).key(["SLUICE_KEY": "other"]) == "abc")
        #expect(try Secrets.parse([]).key(["SLUICE_KEY": "other"]) == "other")
        #expect(try Secrets.parse([]).key([:]) == nil)
        let missing = try Secrets.parse(["--key-file", "/no/such", "--header-file", "/no/such"])
        #expect(throws: ValidationError.self) { try missing.key([:]) }
        #expect(throws: ValidationError.self) { try missing.headers([:]) }
    }

    @Test(
        "A secret header as an argument is refused",
        arguments: [
            "Authorization", "proxy-authorization", "COOKIE", "Set-Cookie2", "X-Api-Key", "DD-API-KEY",
            "X-ClickHouse-Key", "x-functions-key", "Ocp-Apim-Subscription-Key", "x_amz_security_token",
            "lightstep-access-token", "X-Auth-Email", "X-JWT-Assertion", "X-Hub-Signature-256", "X-User-Pwd", "X-PIN",
            "X-CSRF", "X-Otp-Code",
            "Basic-Credentials", "PrivateKey", "X-Client-Secret",
        ])
    func refusesSecrets(name: String) throws {
        let error = #expect(throws: (any Error).self) { try Secrets.parse(["--header", "\(name): a"]) }
        #expect("\(try #require(error))".contains("--header-file"))
    }

    @Test(
        "A header whose name only looks like that of a secret is an argument",
        arguments: [
            "X-Shop", "Content-Language", "Keep-Alive", "X-Keyboard-Layout", "Keynote", "x_monkey", "X-Turkey",
            "Cookieless-Mode", "X-Author", "X-Authority", "X-Shipping-Zone", "X-Spinner", "X-Dotpath", "X-Compass",
            "X-Design", "X-Country-Code", "X-Scope-OrgID", "Content-MD5",
        ])
    func takesOtherHeaders(name: String) throws {
        #expect(try Secrets.parse(["--header", "\(name): a"]).headers([:]) == ["\(name): a"])
    }
}
