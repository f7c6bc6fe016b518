import Foundation
import HTTPTestSupport
import Sluice
import SluiceGzip
import TestSupport
import Testing

@testable import SluiceHTTP
@testable import SluiceVendors

/// Reads bodies with Python's JSON, Base64, gzip and CRC, and compares them with the published shapes.
@Suite("Bodies in an independent reader")
struct IndependentReaderTests {
    struct Case: Encodable {
        let format: String
        let url: String
        let headers: [String: String]
        let body: Data
        let lines: [Data]

        init(_ sample: FormatSample, _ batch: Batch, deflater: Deflater?) throws {
            var request = try sample.request(batch)
            if let deflater, sample.wire.acceptsGzip { request.gzip(by: deflater) }
            format = sample.name
            url = request.url
            headers = Dictionary(request.headers.map { ($0.name, $0.value) }) { $1 }
            body = Data(request.body)
            lines = batch.events.map { Data($0.bytes) }
        }
    }

    static var hasPython: Bool {
        ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":").contains {
            FileManager.default.isExecutableFile(atPath: $0 + "/python3")
        } == true
    }
    static let isCI = ProcessInfo.processInfo.environment["CI"] != nil

    @Test(
        "it finds the events in the bodies of every format, plain and compressed",
        .enabled(if: hasPython || isCI, "there is no python3"))
    func readerFindsEvents() async throws {
        var cases: [Case] = []
        for sample in FormatSample.all {
            for batch in [try Batch.allKinds(), try Batch.numbered(50)] {
                cases.append(try Case(sample, batch, deflater: nil))
                cases.append(try Case(sample, batch, deflater: .system))
            }
        }
        let output = try await Self.run(cases)
        let expected = cases.map { "\($0.format) \($0.lines.count) \($0.headers["Content-Encoding"] ?? "plain")" }
        #expect(output.split(separator: "\n").map(String.init) == expected)
        let accepting = FormatSample.all.filter { $0.wire.acceptsGzip }
        #expect(accepting.allSatisfy { expected.contains("\($0.name) 50 gzip") })
    }

    @Test("it finds the events in Sensors' body without zlib", .enabled(if: hasPython || isCI, "there is no python3"))
    func readerFindsStoredEvents() async throws {
        let sample = try FormatSample.named("sensors")
        let batch = try Batch.numbered(50)
        var request = HTTPRequest(url: "https://host/sa")
        try SensorsFormat(token: nil, deflater: .storing).encode(batch, into: &request)
        let stored = try Case(sample, batch, request)
        #expect(try await Self.run([stored]) == "sensors 50 plain\n")
    }

    /// - Returns: The reader's output.
    private static func run(_ cases: [Case]) async throws -> String {
        let script = Repository.root.appending(path: "Tests/SluiceVendorsTests/bodies.py").path
        let result = try await Program.run(tool: "python3", [script], input: JSONEncoder().encode(cases))
        #expect(result.status == 0, "\(result.errors)")
        return result.text
    }
}

extension IndependentReaderTests.Case {
    init(_ sample: FormatSample, _ batch: Batch, _ request: HTTPRequest) throws {
        format = sample.name
        url = request.url
        headers = [:]
        body = Data(request.body)
        lines = batch.events.map { Data($0.bytes) }
    }
}
