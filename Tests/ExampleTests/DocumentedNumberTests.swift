import Foundation
import SluiceHTTP
import SluiceVendors
import TestSupport
import Testing

@Suite("Numbers in the pages are those of the source")
struct DocumentedNumberTests {
    /// The cells of a table's row that begins with `name`.
    private static func row(_ name: String, in page: String) throws -> [String] {
        let line = try Repository.text(page).split(separator: "\n").first { $0.hasPrefix("| \(name)") }
        let row = try #require(line, "\(page) has no row \(name)")
        return row.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }

    private static func text(_ duration: Duration) -> String { "\(duration.components.seconds) s" }

    private static func text(_ number: Int) -> String {
        number < 1_000
            ? "\(number)" : "\(number / 1_000)," + String("\(1_000 + number % 1_000)".dropFirst())
    }

    private static func size(_ policy: DeliveryPolicy) -> String {
        "\(policy.batch.events) events, \(policy.batch.bytes / 1_024) KiB"
    }

    @Test("the table of policies has the values of the three policies")
    func policies() throws {
        let policies = [DeliveryPolicy.standard, .sensors, .appCenter]
        let expected: [(String, (DeliveryPolicy) -> String)] = [
            ("`batch`", Self.size), ("`flushCount`", { "\($0.flushCount)" }),
            ("`flushInterval`", { Self.text($0.flushInterval) }),
            ("`criticalInterval`", { Self.text($0.criticalInterval) }),
            ("`sendsOverMeteredNetworks`", { "\($0.sendsOverMeteredNetworks)" }),
        ]
        for (name, value) in expected {
            let cells = try Self.row(name, in: "Docs/HowDeliveryWorks.md")
            #expect(Array(cells[1...3]) == policies.map(value), "\(name)")
        }
        let batches = try Self.row("`maximumBatchesInFlight`", in: "Docs/HowDeliveryWorks.md")
        for (cell, policy) in zip(batches[1...], policies) {
            #expect(cell.hasPrefix("\(policy.maximumBatchesInFlight)"))
        }
        for (name, value) in [
            ("`backOff`", Self.text(DeliveryPolicy.standard.backOff)),
            ("`maximumBackOff`", Self.text(DeliveryPolicy.standard.maximumBackOff)),
        ] {
            #expect(try Self.row(name, in: "Docs/HowDeliveryWorks.md")[1] == value, "\(name)")
        }
    }

    @Test("the triggers of a pass have the values of the standard policy")
    func triggers() throws {
        let policy = DeliveryPolicy.standard
        for (name, value) in [
            ("this many events", "\(policy.flushCount)"), ("an event has waited", Self.text(policy.flushInterval)),
            ("a critical event", Self.text(policy.criticalInterval)),
        ] {
            #expect(try Self.row(name, in: "Docs/HowDeliveryWorks.md")[1] == value, "\(name)")
        }
        let formats = try Repository.text("Docs/WireFormats.md").replacing("\n", with: " ")
        #expect(formats.contains("the policy's batch of \(policy.batch.events) events"))
    }

    @Test("the timeouts of HTTPTransport are the documented ones")
    func timeouts() throws {
        let configuration = HTTPTransport.Configuration()
        for (name, value) in [
            ("`connectTimeout`", configuration.connectTimeout), ("`totalTimeout`", configuration.totalTimeout),
        ] {
            let cell = try Self.row(name, in: "Docs/HTTPTransport.md")[1]
            #expect(cell == "`.seconds(\(value.components.seconds))`", "\(name)")
        }
    }

    /// The formats whose row has a number of events.
    private static let formats: [(String, HTTPFormat)] = [
        ("ClickHouse", .clickHouse(table: "t")), ("Elasticsearch", .elasticsearch(index: "i")),
        ("OpenTelemetry", .otlp(service: "s")), ("Sensors Analytics", .sensors()), ("Segment", .segment(writeKey: "k")),
        ("RudderStack", .rudderStack(writeKey: "k")), ("PostHog |", .postHog(apiKey: "k")),
        ("PostHog servers", .postHogBatch(apiKey: "k")), ("Loki", .loki(labels: ["app": "shop"])),
        ("Kafka, REST Proxy", .kafka(topic: "t")), ("Kafka, REST v3", .kafkaV3(cluster: "c", topic: "t")),
        ("Mixpanel", .mixpanel(token: "t")), ("Amplitude", .amplitude(apiKey: "k")),
        ("Datadog", .datadog(apiKey: "k", service: "s")), ("Splunk", .splunk(token: "t")),
        ("InfluxDB 2", .influxDB(bucket: "b", token: "t")), ("InfluxDB 1", .influxDBV1(database: "d")),
        ("Amazon Kinesis", .kinesis(stream: "s", region: "r", accessKey: "a", secretKey: "s")),
        ("Amazon Data Firehose", .firehose(stream: "s", region: "r", accessKey: "a", secretKey: "s")),
        ("Matomo", .matomo(site: "1", token: "t")),
        ("Google Analytics 4", .googleAnalytics(measurementID: "m", apiSecret: "s")),
        ("TelemetryDeck", .telemetryDeck(appID: "a")), ("Snowplow", .snowplow(appID: "a", vendor: "v")),
    ]

    @Test("the table of wire formats has the largest batch of each format", arguments: formats.indices)
    func largestBatches(index: Int) throws {
        let (name, format) = Self.formats[index]
        let cell = try Self.row(name, in: "Docs/WireFormats.md")[3]
        let events = Self.text(HTTPTransport(to: "https://host", format: format).maximumBatchSize.events)
        #expect(cell == events || cell.hasPrefix(events + ", "), "\(name): \(cell)")
    }
}
