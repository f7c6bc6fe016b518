import HTTPTestSupport
import Sluice
import SluiceGzip
import SluiceTesting
import Testing

@testable import SluiceHTTP
@testable import SluiceVendors

@Suite("Compression of the formats")
struct CompressionTests {
    @Test("Mixpanel's events are compressed, and its profiles are not")
    func mixpanelProfilesAreNotCompressed() async throws {
        let client = KeepingClient(responding: HTTPResponse(200, #"{"code":200}"#))
        let format = HTTPFormat.mixpanel(token: "k")
        let transport = HTTPTransport(to: "https://h/", format: format, configuration: .init(client: client))
        var profile = Event.numbered(0)
        profile.name = "$ProfileSet"
        profile.distinctID = "u"
        profile.properties = ["$set": ["text": .string(String(repeating: "a", count: 1_000))]]
        let batch = try Batch(id: 1, events: [EventLine(profile)] + Batch.numbered(50).events)
        #expect(try await transport.send(batch) == .all(.accepted, status: 200))
        let encodings = client.requests.map { $0.header("Content-Encoding") }
        #expect(encodings == [nil, "gzip"])
    }

    @Test("these formats accept gzip")
    func someFormatsAcceptGzip() {
        let accepting = FormatSample.all.filter { $0.wire.acceptsGzip }.map(\.name)
        #expect(
            accepting == [
                "fluentBit", "vector", "clickHouse", "clickHouseLegacy", "elasticsearch", "otlp", "loki", "datadog",
                "splunk", "influxDB", "influxDBV1", "segment", "postHog", "postHogBatch", "mixpanel",
                "mixpanelAccount", "amplitude",
            ])
    }

    @Test("stored blocks follow RFC 1951", arguments: [0, 1, 65_534, 65_535, 65_536, 200_000])
    func storedBlocksFollowRFC(count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let stream = try #require(Deflater.storing.begin()(bytes[...], true))
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

    @Test("Java's hash codes of published texts are the published ones")
    func hashCodesArePublishedOnes() {
        #expect("hello".utf8.javaHashCode == 99_162_322)
        #expect("polygenelubricants".utf8.javaHashCode == .min)
    }
}
