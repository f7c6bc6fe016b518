package import Sluice
package import SluiceHTTP
import Testing

/// A format, with a secret wherever it takes one.
package struct FormatSample: Sendable, CustomTestStringConvertible {
    package let name: String
    package let format: HTTPFormat
    /// As a host would write it.
    package let url: String

    package var wire: any WireFormat { format }
    package var testDescription: String { name }

    package static let secret = "s3cr3t-key"

    /// The formats of SluiceHTTP.
    package static let open: [FormatSample] = [
        FormatSample("jsonArray", .jsonArray, "https://host/events"),
        FormatSample("ndjson", .ndjson, "https://host/events"),
        FormatSample("fluentBit", .fluentBit, "https://host:9880/app.events"),
        FormatSample("vector", .vector, "https://host/"),
        FormatSample(
            "clickHouse", .clickHouse(table: "events", database: "my db", user: "writer", password: secret),
            "https://host:8443/"),
        FormatSample(
            "clickHouseLegacy",
            .clickHouseLegacy(table: "e`v\\s", database: "my db", user: "writer", password: secret),
            "https://host:8123/?input_format_import_nested_json=1"),
        FormatSample("elasticsearch", .elasticsearch(index: "events"), "https://host:9200"),
        FormatSample("otlp", .otlp(service: "shop"), "https://host:4318"),
        FormatSample("loki", .loki(labels: ["env": "prod", "app": "shop"], tenant: "t1"), "https://host:3100"),
        FormatSample("kafka", .kafka(topic: "my.topic"), "https://host:8082"),
        FormatSample("kafkaV3", .kafkaV3(cluster: "c-1", topic: "events"), "https://host/kafka"),
        FormatSample(
            "datadog", .datadog(apiKey: secret, service: "shop", tags: "env:prod"),
            "https://http-intake.logs.datadoghq.com"),
        FormatSample("splunk", .splunk(token: secret, index: "main"), "https://host:8088"),
        FormatSample(
            "influxDB", .influxDB(bucket: "my bucket", organization: "shop", token: secret), "https://host:8086"),
        FormatSample(
            "influxDBV1", .influxDBV1(database: "events", user: "svc", password: secret), "https://host:8086"),
        FormatSample(
            "kinesis", .kinesis(stream: "events", region: "eu-central-1", accessKey: "AKID", secretKey: secret),
            "https://kinesis.eu-central-1.amazonaws.com"),
        FormatSample(
            "firehose", .firehose(stream: "events", region: "eu-central-1", accessKey: "AKID", secretKey: secret),
            "https://firehose.eu-central-1.amazonaws.com/"),
        FormatSample(
            "objects", .objects(region: "eu-central-1", accessKey: "AKID", secretKey: secret),
            "https://shop.s3.eu-central-1.amazonaws.com/events"),
    ]

    package init(_ name: String, _ format: HTTPFormat, _ url: String) {
        self.name = name
        self.format = format
        self.url = url
    }

    /// The request for a batch, as if it were sent at 2026-01-01T00:01:00.000Z.
    package func request(
        _ batch: Batch, sentAt sendTime: Timestamp = Timestamp(milliseconds: 1_767_225_660_000)
    ) throws -> HTTPRequest {
        var request = HTTPRequest(url: url, sendTime: sendTime)
        try wire.encode(batch, into: &request)
        return request
    }
}

extension [FormatSample] {
    package func named(_ name: String) throws -> FormatSample {
        guard let sample = first(where: { $0.name == name }) else {
            throw SluiceError(.invalidArgument, "no format \(name)")
        }
        return sample
    }
}

extension Batch {
    /// An event with every field, an event with required fields only, and an event of a person who isn't logged in.
    package static func allKinds() throws -> Batch {
        try Batch(id: 9, events: [Event.full, .bare, .anonymous].map { try EventLine($0) })
    }

    package static func numbered(_ count: Int) throws -> Batch {
        try Batch(id: 3, events: (0..<count).map { try EventLine(Event.numbered($0)) })
    }
}

extension Event {
    private static func sampleID(_ number: UInt64) -> EventID {
        EventID(high: 0x019B_7705_8C00_7000, low: 0x8000_0000_FFFF_0000 | number)
    }

    package static let full = Event(
        id: sampleID(1), name: "Kauf \"é😀\"", time: Timestamp(milliseconds: 1_767_225_600_123), priority: .critical,
        distinctID: "u/1", anonymousID: "a1", loginID: "u/1",
        properties: [
            "s": "a\n\"\\\u{1}é", "int": -5, "double": 2.5, "true": true, "none": nil,
            "at": .date(Timestamp(milliseconds: 1_767_139_200_000)), "list": [1, ["x", nil], ["k": 2.0]],
            "object": ["inner": ["deep": "y"]], "time": "own", "event.id": "own",
        ])

    package static let bare = Event(id: sampleID(2), name: "Bare", time: Timestamp(milliseconds: 1_767_225_600_000))

    package static let anonymous = Event(
        id: sampleID(3), name: "Seen", time: Timestamp(milliseconds: 1_767_225_601_000), distinctID: "a2",
        anonymousID: "a2", properties: ["n": 1])
}
