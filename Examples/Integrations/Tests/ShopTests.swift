import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import SluiceGRDB
import SluiceJSONL
import SluiceTesting
import Synchronization
import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#endif

/// The shop as a real process.
@Suite("Shop")
struct ShopTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func start(_ arguments: String...) async throws -> (shop: Program, url: String) {
        let shop = try Program("Shop", ["--port", "0"] + arguments)
        let line = try #require(await shop.line(containing: "http://"))
        return (shop, String(line.dropFirst(2)))
    }

    private func send(
        _ method: String, _ url: String, cookie: String? = nil, form: String? = nil
    ) async throws -> (response: HTTPClientResponse, body: String) {
        var request = HTTPClientRequest(url: url)
        request.method = .init(rawValue: method)
        if let cookie { request.headers.add(name: "Cookie", value: cookie) }
        if let form {
            request.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
            request.body = .bytes(ByteBuffer(string: form))
        }
        let client = HTTPClient(configuration: .init(redirectConfiguration: .disallow))
        do {
            let response = try await client.execute(request, timeout: .seconds(60))
            let body = String(buffer: try await response.body.collect(upTo: 100_000))
            try await client.shutdown()
            return (response, body)
        } catch {
            try await client.shutdown()
            throw error
        }
    }

    /// A collector that keeps the bodies of its requests.
    private func collector() throws -> (server: RawServer, bodies: Box<String>) {
        let bodies = Box<String>()
        bodies.value = ""
        let server = try RawServer { connection in
            while let body = try connection.readBody() {
                bodies.value = (bodies.value ?? "") + String(decoding: body, as: UTF8.self)
                try connection.write(RawConnection.ok)
            }
        }
        return (server, bodies)
    }

    @Test("SIGTERM sends the events of all requests, and the process ends with 0", arguments: [SIGTERM, SIGINT])
    func signalDrains(signal: Int32) async throws {
        let (collector, bodies) = try collector()
        let (shop, url) = try await start("--store", folder.path + "/store", "--to", collector.url, "--deadline", "600")
        for _ in 0..<20 { _ = try await send("POST", url + "buy/tea-1", cookie: "visitor=v1; user=ann") }
        shop.signal(signal)
        #expect(await shop.line(containing: "delivered") == "# delivered 40, waiting 0, dropped 0")
        #expect(await shop.status() == 0)
        let text = try #require(bodies.value)
        #expect(text.components(separatedBy: #""event":"Purchase""#).count - 1 == 20)
        #expect(text.components(separatedBy: #""distinct_id":"ann""#).count - 1 == 40)
    }

    @Test("if the collector hangs, SIGTERM ends the process at its deadline, and the next process has the events")
    func hangingCollector() async throws {
        let server = try RawServer { connection in try connection.waitForClose() }
        let path = folder.path + "/store"
        let (shop, url) = try await start("--store", path, "--to", server.url, "--deadline", "0.5")
        for _ in 0..<5 { _ = try await send("POST", url + "buy/pot-1") }
        shop.signal(SIGTERM)
        #expect(await shop.line(containing: "delivered") == "# delivered 0, waiting 10, dropped 0")
        #expect(await shop.status() == 0)
        let transport = ScriptedTransport()
        let next = try Pipeline {
            JSONLStore(at: path)
            transport
        }
        #expect(await next.shutdown(timeout: .seconds(600)).routes[0].recovered == 10)
        #expect(try transport.accepted().count == 10)
    }

    @Test("events in SQLite survive kill -9")
    func sqliteSurvivesKill() async throws {
        let server = try RawServer { connection in try connection.waitForClose() }
        let path = folder.path + "/events.sqlite"
        let (shop, url) = try await start("--store", path, "--to", server.url)
        for _ in 0..<10 { _ = try await send("POST", url + "buy/tea-2", cookie: "visitor=v1") }
        shop.signal(SIGKILL)
        #expect(await shop.status() == -SIGKILL)
        let transport = ScriptedTransport()
        let next = try Pipeline {
            SQLiteStore(at: path)
            transport
        }
        #expect(await next.shutdown(timeout: .seconds(600)).routes[0].recovered == 20)
        #expect(try transport.accepted().filter { $0.name == "Purchase" && $0.anonymousID == "v1" }.count == 10)
    }

    @Test("the page shows the products, a visitor gets a cookie, and a name is shown as text")
    func page() async throws {
        let (collector, bodies) = try collector()
        let (shop, url) = try await start("--store", folder.path + "/store", "--to", collector.url, "--deadline", "600")
        let (first, page) = try await send("GET", url)
        #expect(page.contains("Green tea") && page.contains("Log in"))
        let cookie = try #require(first.headers.first(name: "Set-Cookie"))
        #expect(cookie.hasPrefix("visitor="))
        let visitor = String(cookie.prefix { $0 != ";" })
        let (login, _) = try await send("POST", url + "login", cookie: visitor, form: "name=%3Cb%3EAnn")
        #expect(login.status == .seeOther)
        let user = try #require(login.headers.first(name: "Set-Cookie")).prefix { $0 != ";" }
        let (_, greeting) = try await send("GET", url, cookie: "\(visitor); \(user)")
        #expect(greeting.contains("Hello, &lt;b&gt;Ann."))
        let (missing, _) = try await send("POST", url + "buy/nothing", cookie: visitor)
        #expect(missing.status == .notFound)
        shop.signal(SIGTERM)
        #expect(await shop.status() == 0)
        let text = try #require(bodies.value)
        #expect(text.contains(#""event":"Login""#) && text.contains(#""login_id":"<b>Ann""#))
    }
}
