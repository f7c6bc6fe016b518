import Foundation
import Sluice
import SluiceAutoProperties
import SluiceFilters
import SluiceFoundation
import SluiceHTTP
import SluiceIdentity
import SluiceJSONL
import SluiceStdout
import TestSupport
import Testing

@Suite("SluiceFoundation: URL and Date")
struct FoundationTests {
    private let directory = TemporaryDirectory()

    @Test(
        "dates become timestamps, rounded to the nearest millisecond",
        arguments: [
            (0, 0), (1.1234, 1_123), (1.1236, 1_124), (-0.0016, -2), (1_800_000_000.123, 1_800_000_000_123),
            (1e300, .max), (-1e300, .min), (.infinity, .max), (-.infinity, .min), (.nan, .min),
        ] as [(Double, Int64)])
    func datesBecomeTimestamps(seconds: Double, milliseconds: Int64) {
        let date = Date(timeIntervalSince1970: seconds)
        #expect(Timestamp(date) == Timestamp(milliseconds: milliseconds))
        #expect(PropertyValue.date(date) == .date(Timestamp(milliseconds: milliseconds)))
        #expect(PropertyValue(date) == .date(Timestamp(milliseconds: milliseconds)))
    }

    @Test("timestamps become dates and come back", arguments: [0, -1, 1_800_000_000_123, 253_402_300_799_999])
    func timestampsBecomeDates(milliseconds: Int64) {
        let timestamp = Timestamp(milliseconds: milliseconds)
        #expect(Timestamp(Date(timestamp)) == timestamp)
        #expect(abs(Date(timestamp).timeIntervalSince1970 - Double(milliseconds) / 1_000) < 0.000_1)
    }

    @Test("a date that cannot be written is null, and counted")
    func unwritableDateIsNull() async throws {
        let test = try TestPipeline.with()
        test.pipeline.track(
            "Event",
            [
                "first": .date(Date(Timestamp.writable.lowerBound)), "past": .date(Date.distantPast),
                "never": PropertyValue(Date(timeIntervalSince1970: .nan)),
            ])
        let properties = try await test.event().properties
        #expect(properties["first"] == .date(Timestamp.writable.lowerBound))
        #expect(properties["past"] == .null)
        #expect(properties["never"] == .null)
        #expect(test.pipeline.ledger.sanitized == [.unwritableDate: 1])
    }

    @Test("data become Base64, in a literal, in a dictionary of any values and in an encodable value")
    func dataAreBase64() throws {
        struct Blob: Encodable { let bytes: Data }
        let data = Data([0, 1, 0xFF, 0xFE])
        #expect(Properties(["bytes": data]) == ["bytes": "AAH//g=="])
        #expect(try Properties(converting: ["bytes": data] as [String: Any]) == ["bytes": "AAH//g=="])
        #expect(try Properties(encoding: Blob(bytes: data)) == ["bytes": "AAH//g=="])
    }

    @Test("links and push messages take URLs")
    func linksTakeURLs() async throws {
        let links = Links()
        let test = try TestPipeline { links }
        let url = try #require(URL(string: "shop://u:p@sale/%7Ex?utm_source=a%20b&token=c#d"))
        let own = ["own": 1]
        links.opened(url, referrer: URL(string: "https://mail.example/"), ["own": 1])
        links.pushOpened("spring", url: url)
        links.opened(url, own)
        links.pushOpened(url: url, own)
        let events = await test.events()
        #expect(events.map(\.name) == ["$DeepLinkOpened", "$PushOpened", "$DeepLinkOpened", "$PushOpened"])
        #expect(events.map { $0.properties["own"] } == [1, nil, 1, 1])
        #expect(
            events.map { $0.properties["$url"] }
                == Array(repeating: "shop://sale/%7Ex?utm_source=a%20b&token=[redacted]#d", count: 4))
        #expect(events.map { $0.properties["$utm_source"] } == Array(repeating: "a b", count: 4))
        #expect(events[0].properties["$referrer"] == "https://mail.example/")
        #expect(events[1].properties["$utm_campaign"] == "spring")
    }

    @Test("file URLs name directories, with any characters")
    func fileURLsNameDirectories() throws {
        let url = URL(filePath: directory.path).appending(path: "a b%20ü/state", directoryHint: .isDirectory)
        let identity = Identity(persistedIn: try .file(url))
        try identity.login("a")
        try Consent(persistedIn: try .file(url)).grant()
        AutoProperties(persistedIn: try .file(url)).register(["a": 1])
        #expect(AutoProperties(persistedIn: .file("\(directory.path)/a b%20ü/state")).registered == ["a": 1])
        #expect(Identity(persistedIn: .file("\(directory.path)/a b%20ü/state")).loginID == "a")
        #expect(Consent(persistedIn: .file("\(directory.path)/a b%20ü/state")).status == .granted)
        #expect(directory.names == ["a b%20ü"])
    }

    @Test("a relative file URL is resolved against its base")
    func relativeURLIsResolved() throws {
        let url = URL(filePath: "state", relativeTo: URL(filePath: directory.path, directoryHint: .isDirectory))
        try Consent(persistedIn: try .file(url)).grant()
        #expect(directory.names == ["state"])
    }

    @Test("a store at a URL is the store at its path")
    func urlNamesStore() async throws {
        let url = URL(filePath: directory.path).appending(path: "events")
        let null = try FileHandle(forWritingTo: URL(filePath: "/dev/null"))
        let first = try Pipeline {
            try JSONLStore(at: url)
            StdoutTransport(descriptor: null.fileDescriptor)
        }
        first.pauseDelivery()
        first.track("Event")
        await first.shutdown(timeout: .seconds(600))
        #expect(directory.names == ["events"])
        let store = JSONLStore(at: "\(directory.path)/events")
        try store.open()
        #expect(try store.nextBatch(BatchSize(events: 10, bytes: 10_000))?.events.first?.event().name == "Event")
    }

    @Test(
        "a URL that doesn't name a file is refused with advice",
        arguments: ["https://example.org/state", "state", "data:,"])
    func otherURLsAreRefused(text: String) throws {
        let url = try #require(URL(string: text))
        for make in [
            { _ = try Persistence.file(url) }, { _ = try JSONLStore(at: url) },
        ] {
            let error = #expect(throws: SluiceError.self) { try make() }
            #expect(error?.code == .invalidArgument)
            #expect(error?.message.contains("URL(filePath:)") == true)
        }
    }

    private struct Client: HTTPClient {
        let urls = Locked<[String]>([])

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            urls.withLock { $0.append(request.url) }
            return HTTPResponse(status: 200)
        }
    }

    @Test("batches go to the unchanged URL")
    func urlNamesReceiver() async throws {
        let client = Client()
        let url = try #require(URL(string: "https://example.org/events?a=%20b"))
        let pipeline = try Pipeline.with(to: HTTPTransport(to: url, configuration: .init(client: client)))
        pipeline.track("Event")
        let ledger = await pipeline.shutdown(timeout: .seconds(600))
        #expect(ledger.routes[0].delivered == 1)
        #expect(client.urls.withLock { $0 } == ["https://example.org/events?a=%20b"])
    }

    @Test(
        "a URL that is not http(s) is refused when the pipeline is built",
        arguments: ["ftp://example.org/", "file:///x"])
    func otherSchemesAreRefused(text: String) throws {
        let url = try #require(URL(string: text))
        let error = #expect(throws: SluiceError.self) {
            try Pipeline.with(to: HTTPTransport(to: url, configuration: .init(client: Client())))
        }
        #expect(error?.code == .invalidArgument)
    }
}
