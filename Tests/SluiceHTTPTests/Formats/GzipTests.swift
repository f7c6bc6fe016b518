import Sluice
import Testing

@testable import SluiceHTTP

@Suite("Compressed bodies", .timeLimit(.minutes(10)))
struct GzipTests {
    static func transport(
        _ client: KeepingClient, gzip: Bool = true, deflater: Deflater? = .system,
        format: any WireFormat = .vector, headers: [String: String] = [:],
        sign: (@Sendable (inout HTTPRequest) throws -> Void)? = nil,
        onDiagnostic: (@Sendable (Diagnostic) -> Void)? = nil
    ) -> HTTPTransport {
        HTTPTransport(
            to: "https://h/", format: format, headers: headers, gzip: gzip, deflater: deflater,
            deadlines: HTTPDeadlines(), client: client, time: SystemTime(), sign: sign, onDiagnostic: onDiagnostic)
    }

    static func sent(_ batch: Batch, by transport: HTTPTransport, _ client: KeepingClient) async throws -> HTTPRequest {
        try transport.open()
        _ = try await transport.send(batch)
        return try #require(client.requests.withLock { $0.last })
    }

    @Test("this system has a zlib; without it most here says nothing")
    func library() {
        #expect(Deflater.system != nil)
    }

    @Test("a long body of a format that allows it is compressed, always into the same bytes")
    func long() async throws {
        let client = KeepingClient()
        let transport = Self.transport(client)
        let batch = try Batch.numbered(50)
        let first = try await Self.sent(batch, by: transport, client)
        let second = try await Self.sent(batch, by: transport, client)
        #expect(first.header("Content-Encoding") == "gzip")
        #expect(first.body.starts(with: [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF]))
        #expect(first.body.count < NDJSONFormat.lines(of: batch).count / 4)
        #expect(first.body == second.body)
    }

    @Test("1,024 bytes are sent as they are, one more is not", arguments: [1_023, 1_024, 1_025])
    func threshold(count: Int) async throws {
        let client = KeepingClient()
        let batch = Batch.of(String(repeating: "a", count: count - 1))
        let request = try await Self.sent(batch, by: Self.transport(client), client)
        #expect((request.header("Content-Encoding") == "gzip") == (count > 1_024))
    }

    @Test("what does not become smaller is sent as it is")
    func incompressible() async throws {
        let client = KeepingClient()
        let batch = try Batch.numbered(50)
        let request = try await Self.sent(batch, by: Self.transport(client, deflater: .storing), client)
        #expect(request.header("Content-Encoding") == nil)
        #expect(request.body == NDJSONFormat.lines(of: batch))
    }

    @Test("nothing is compressed if the host says so, or if the format does not allow it, or has an encoding")
    func off() async throws {
        let client = KeepingClient()
        let batch = try Batch.numbered(50)
        let transports = [
            Self.transport(client, gzip: false), Self.transport(client, format: .ndjson),
            Self.transport(client, headers: ["content-encoding": "identity"]),
        ]
        for transport in transports {
            #expect(try await Self.sent(batch, by: transport, client).body == NDJSONFormat.lines(of: batch))
        }
    }

    @Test("the formats whose receivers read gzip, and those of which nothing is known")
    func formats() {
        let accepting = FormatSample.all.filter { $0.format.acceptsGzip }.map(\.name)
        #expect(
            accepting == [
                "fluentBit", "vector", "clickHouse", "clickHouseLegacy", "elasticsearch", "otlp", "postHog",
                "loki", "mixpanel", "mixpanelAccount", "datadog",
            ])
    }

    @Test("a compressed body arrives byte for byte")
    func overTheWire() async throws {
        let server = try Server(answering: HTTPAnswer.ok)
        let batch = try Batch.numbered(50)
        _ = try await openTransport(to: server.url, format: .vector).send(batch)
        let request = try await server.received.next()
        let deflater = try #require(Deflater.system)
        #expect(request.body == Gzip.file(of: NDJSONFormat.lines(of: batch), by: deflater))
        #expect(request.values("Content-Encoding") == ["gzip"])
        #expect(request.values("Content-Length") == ["\(request.body.count)"])
    }

    @Test("a signature is made of the body as it is sent")
    func signing() async throws {
        let client = KeepingClient()
        let transport = Self.transport(client) { $0.setHeader("X-Length", "\($0.body.count)") }
        let request = try await Self.sent(.numbered(50), by: transport, client)
        #expect(request.header("Content-Encoding") == "gzip")
        #expect(request.header("X-Length") == "\(request.body.count)")
    }

    @Test("without a zlib bodies go uncompressed, and the host is told once")
    func missing() async throws {
        let client = KeepingClient()
        let told = Locked<[Diagnostic]>([])
        let tell: @Sendable (Diagnostic) -> Void = { diagnostic in told.withLock { $0.append(diagnostic) } }
        let transport = Self.transport(client, deflater: nil, onDiagnostic: tell)
        let batch = try Batch.numbered(50)
        try transport.open()
        for _ in 0..<3 { _ = try await transport.send(batch) }
        #expect(client.requests.withLock { $0.allSatisfy { $0.body == NDJSONFormat.lines(of: batch) } })
        #expect(told.withLock { $0.map(\.kind) } == [.note])
        #expect(told.withLock { $0.first?.message.contains("libz.so.1") } == true)
        for quiet in [true, false] {
            let other = Self.transport(client, gzip: quiet, deflater: quiet ? .system : nil, onDiagnostic: tell)
            try other.open()
        }
        #expect(told.withLock { $0.count } == 1)
    }

    @Test("a file that stores has the blocks of RFC 1951", arguments: [0, 1, 65_534, 65_535, 65_536, 200_000])
    func storing(count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let stream = try #require(Deflater.storing.deflate(bytes))
        var read: [UInt8] = []
        var position = 0
        var isLast = false
        while !isLast {
            isLast = stream[position] == 1
            let length = Int(stream[position + 1]) | Int(stream[position + 2]) << 8
            let complement = Int(stream[position + 3]) | Int(stream[position + 4]) << 8
            #expect(length ^ complement == 0xFFFF)
            read += stream[position + 5..<position + 5 + length]
            position += 5 + length
        }
        #expect(read == bytes)
        #expect(position == stream.count)
    }
}

@Suite("Encodings, by the examples of their documents")
struct EncodingTests {
    @Test(
        "Base64 (RFC 4648, 10)",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"), ("\u{FF}>?", "w78+Pw=="),
        ])
    func base64(text: String, expected: String) {
        #expect(text.base64 == expected)
    }

    @Test("percent-encoding leaves the unreserved characters only")
    func percent() {
        #expect("aZ09-._~ +/=&%é".percentEncoded == "aZ09-._~%20%2B%2F%3D%26%25%C3%A9")
    }

    @Test("checksums of the texts for which everybody publishes them")
    func checksums() {
        #expect("123456789".utf8.crc32 == 0xCBF4_3926)
        #expect("".utf8.crc32 == 0)
        #expect("foobar".utf8.fnv1a == 0x8594_4171_F739_67E8)
        #expect("hello".utf8.javaHashCode == 99_162_322)
        #expect("polygenelubricants".utf8.javaHashCode == .min)
    }
}
