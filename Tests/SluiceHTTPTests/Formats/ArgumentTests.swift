import Sluice
import SluiceMemory
import Testing

@testable import SluiceHTTP

@Suite("Arguments of formats are checked when the pipeline is built")
struct ArgumentTests {
    /// Makes a format with one argument.
    struct Case: Sendable, CustomTestStringConvertible {
        let format: String
        let argument: String
        let make: @Sendable (String) -> HTTPFormat
        var testDescription: String { "\(format) \(argument)" }

        init(_ format: String, _ argument: String, _ make: @escaping @Sendable (String) -> HTTPFormat) {
            (self.format, self.argument, self.make) = (format, argument, make)
        }
    }

    static let keys: [Case] = [
        Case("postHog", "apiKey") { .postHog(apiKey: $0) },
        Case("postHogBatch", "apiKey") { .postHogBatch(apiKey: $0) },
        Case("segment", "writeKey") { .segment(writeKey: $0) },
        Case("rudderStack", "writeKey") { .rudderStack(writeKey: $0) },
        Case("amplitude", "apiKey") { .amplitude(apiKey: $0) }, Case("mixpanel", "token") { .mixpanel(token: $0) },
        Case("mixpanel", "project") { .mixpanel(project: $0, user: "u", secret: "s") },
        Case("mixpanel", "user") { .mixpanel(project: "7", user: $0, secret: "s") },
        Case("mixpanel", "secret") { .mixpanel(project: "7", user: "u", secret: $0) },
        Case("mixpanel", "token") { .mixpanel(project: "7", user: "u", secret: "s", token: $0) },
        Case("datadog", "apiKey") { .datadog(apiKey: $0, service: "shop") },
        Case("sensors", "token") { .sensors(token: $0) },
        Case("kinesis", "stream") { .kinesis(stream: $0, region: "r") },
        Case("kinesis", "region") { .kinesis(stream: "s", region: $0) },
        Case("kinesis", "accessKey") { .kinesis(stream: "s", region: "r", accessKey: $0, secretKey: "x") },
        Case("firehose", "secretKey") { .firehose(stream: "s", region: "r", accessKey: "x", secretKey: $0) },
        Case("firehose", "stream") { .firehose(stream: $0, region: "r") },
        Case("splunk", "token") { .splunk(token: $0) },
        Case("influxDB", "token") { .influxDB(bucket: "b", token: $0) },
        Case("matomo", "site") { .matomo(site: $0, token: "t") },
        Case("matomo", "token") { .matomo(site: "1", token: $0) },
        Case("googleAnalytics", "measurementID") { .googleAnalytics(measurementID: $0, apiSecret: "s") },
        Case("googleAnalytics", "apiSecret") { .googleAnalytics(measurementID: "G-1", apiSecret: $0) },
        Case("telemetryDeck", "appID") { .telemetryDeck(appID: $0) },
        Case("telemetryDeck", "namespace") { .telemetryDeck(appID: "a", namespace: $0) },
    ]

    static let names: [Case] = [
        Case("datadog", "service") { .datadog(apiKey: "k", service: $0) },
        Case("datadog", "tags") { .datadog(apiKey: "k", service: "shop", tags: $0) },
        Case("clickHouse", "table") { .clickHouse(table: $0) },
        Case("clickHouse", "database") { .clickHouse(table: "t", database: $0) },
        Case("clickHouse", "user") { .clickHouse(table: "t", user: $0) },
        Case("clickHouseLegacy", "table") { .clickHouseLegacy(table: $0) },
        Case("clickHouseLegacy", "database") { .clickHouseLegacy(table: "t", database: $0) },
        Case("clickHouseLegacy", "user") { .clickHouseLegacy(table: "t", user: $0) },
        Case("elasticsearch", "index") { .elasticsearch(index: $0) }, Case("otlp", "service") { .otlp(service: $0) },
        Case("loki", "labels") { .loki(labels: ["app": $0]) },
        Case("loki", "tenant") { .loki(labels: ["app": "shop"], tenant: $0) },
        Case("kafka", "topic") { .kafka(topic: $0) },
        Case("kafkaV3", "cluster") { .kafkaV3(cluster: $0, topic: "t") },
        Case("kafkaV3", "topic") { .kafkaV3(cluster: "c", topic: $0) },
        Case("splunk", "index") { .splunk(token: "t", index: $0) },
        Case("splunk", "sourceType") { .splunk(token: "t", sourceType: $0) },
        Case("influxDB", "bucket") { .influxDB(bucket: $0, token: "t") },
        Case("influxDB", "organization") { .influxDB(bucket: "b", organization: $0, token: "t") },
        Case("influxDBV1", "database") { .influxDBV1(database: $0) },
        Case("influxDBV1", "user") { .influxDBV1(database: "d", user: $0) },
        Case("snowplow", "appID") { .snowplow(appID: $0, vendor: "com.example") },
        Case("clickHouse", "password") { .clickHouse(table: "t", user: "u", password: $0) },
        Case("clickHouseLegacy", "password") { .clickHouseLegacy(table: "t", user: "u", password: $0) },
        Case("influxDBV1", "password") { .influxDBV1(database: "d", user: "u", password: $0) },
    ]

    private func expectError(_ row: Case, _ value: String) {
        let error = #expect(throws: SluiceError.self) {
            try Pipeline {
                MemoryStore()
                HTTPTransport(to: "https://host", format: row.make(value))
            }
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains("argument \(row.argument) ") == true, "\(error?.message ?? "")")
        if value.contains("phc_x") { #expect(error?.message.contains("phc_x") == false) }
    }

    @Test(
        "a newline from a file, a control character, a space at an end and an empty text are errors that name the argument",
        arguments: keys + names)
    func wrongTextIsError(row: Case) {
        for value in ["phc_x\n", "phc_x\r\n", "\nphc_x", "phc\u{0}_x", "phc_x\t", "phc_x ", " phc_x", "phc_x\u{7F}"] {
            expectError(row, value)
        }
        // A user can have an empty password.
        if row.argument != "password" { expectError(row, "") }
    }

    @Test("a key with a space inside or a character beyond ASCII is an error", arguments: keys)
    func oddKeyIsError(row: Case) {
        for value in ["phc_x y", "phc_x\u{E9}", "phc_x\u{200B}"] { expectError(row, value) }
    }

    @Test("usual arguments are accepted", arguments: keys + names)
    func usualArgumentIsAccepted(row: Case) throws {
        for value in ["phc_x", "a-b.c_d", "AbC012=="] { try row.make(value).validate() }
        try HTTPFormat.kafka(topic: "my topic").validate()
        try HTTPFormat.clickHouse(table: "t", user: "u", password: "").validate()
        try HTTPFormat.sensors().validate()
    }

    @Test("a vendor that Iglu refuses is an error", arguments: ["", "com.example\n", "a/b", "a b", "\u{E4}"])
    func wrongVendorIsError(vendor: String) throws {
        let error = #expect(throws: SluiceError.self) {
            try HTTPFormat.snowplow(appID: "shop", vendor: vendor).validate()
        }
        #expect(error?.message.contains("argument vendor ") == true)
        try HTTPFormat.snowplow(appID: "shop", vendor: "com.example-1").validate()
    }

    @Test("Matomo's dimensions have different ids above 0", arguments: [["a": 0], ["a": 1, "b": 1], ["a": -1]])
    func wrongDimensionIsError(dimensions: [String: Int]) throws {
        let error = #expect(throws: SluiceError.self) {
            try HTTPFormat.matomo(site: "1", token: "t", dimensions: dimensions).validate()
        }
        #expect(error?.message.contains("argument dimensions ") == true)
        try HTTPFormat.influxDBV1(database: "d", user: "u", password: "").validate()
    }

    @Test("labels that Loki refuses are errors", arguments: ["", "1a", "a-b", "a b", "\u{E4}", "a.b"])
    func wrongLabelIsError(name: String) {
        #expect(throws: SluiceError.self) { try HTTPFormat.loki(labels: [name: "x"]).validate() }
        let many = Dictionary(uniqueKeysWithValues: (0..<16).map { ("l\($0)", "x") })
        #expect(throws: SluiceError.self) { try HTTPFormat.loki(labels: many).validate() }
    }
}
