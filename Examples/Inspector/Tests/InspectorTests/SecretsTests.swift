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
            "Authorization: Bearer a", "proxy-authorization: a", "Cookie: a", "X-API-Key: a", "x-auth-token: a",
        ])
    func refusesSecrets(header: String) throws {
        let error = #expect(throws: (any Error).self) { try Secrets.parse(["--header", header]) }
        #expect("\(try #require(error))".contains("--header-file"))
    }
}
