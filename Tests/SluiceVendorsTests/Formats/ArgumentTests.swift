import Sluice
import SluiceMemory
import Testing

@testable import SluiceHTTP
@testable import SluiceVendors

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
        Case("mixpanel", "user") { .mixpanel(project: "7", user: $0, secret: "s") },
        Case("mixpanel", "secret") { .mixpanel(project: "7", user: "u", secret: $0) },
        Case("mixpanel", "token") { .mixpanel(project: "7", user: "u", secret: "s", token: $0) },
        Case("datadog", "apiKey") { .datadog(apiKey: $0, service: "shop") },
        Case("sensors", "token") { .sensors(token: $0) },
        Case("kinesis", "accessKey") { .kinesis(stream: "s", region: "r", accessKey: $0, secretKey: "x") },
        Case("firehose", "secretKey") { .firehose(stream: "s", region: "r", accessKey: "x", secretKey: $0) },
        Case("splunk", "token") { .splunk(token: $0) },
        Case("influxDB", "token") { .influxDB(bucket: "b", token: $0) },
        Case("matomo", "token") { .matomo(site: "1", token: $0) },
        Case("googleAnalytics", "apiSecret") { .googleAnalytics(measurementID: "G-1", apiSecret: $0) },
        Case("telemetryDeck", "appID") { .telemetryDeck(appID: $0) },
        Case("objects", "accessKey") { .objects(region: "r", accessKey: $0, secretKey: "x") },
        Case("objects", "secretKey") { .objects(region: "r", accessKey: "x", secretKey: $0) },
    ]

    static let names: [Case] = [
        Case("datadog", "service") { .datadog(apiKey: "k", service: $0) },
        Case("datadog", "tags") { .datadog(apiKey: "k", service: "shop", tags: $0) },
        Case("otlp", "service") { .otlp(service: $0) },
        Case("clickHouse", "table") { .clickHouse(table: $0) },
        Case("clickHouse", "database") { .clickHouse(table: "t", database: $0) },
        Case("clickHouse", "user") { .clickHouse(table: "t", user: $0) },
        Case("clickHouseLegacy", "table") { .clickHouseLegacy(table: $0) },
        Case("clickHouseLegacy", "database") { .clickHouseLegacy(table: "t", database: $0) },
        Case("clickHouseLegacy", "user") { .clickHouseLegacy(table: "t", user: $0) },
        Case("loki", "labels") { .loki(labels: ["app": $0]) },
        Case("splunk", "sourceType") { .splunk(token: "t", sourceType: $0) },
        Case("influxDB", "bucket") { .influxDB(bucket: $0, token: "t") },
        Case("influxDB", "organization") { .influxDB(bucket: "b", organization: $0, token: "t") },
        Case("influxDBV1", "database") { .influxDBV1(database: $0) },
        Case("influxDBV1", "user") { .influxDBV1(database: "d", user: $0) },
        Case("snowplow", "appID") { .snowplow(appID: $0, vendor: "com.example") },
        Case("clickHouse", "password") { .clickHouse(table: "t", user: "u", password: $0) },
        Case("clickHouseLegacy", "password") { .clickHouseLegacy(table: "t", user: "u", password: $0) },
        Case("telemetryDeck", "salt") { .telemetryDeck(appID: "a", salt: $0) },
        Case("influxDBV1", "password") { .influxDBV1(database: "d", user: "u", password: $0) },
    ]

    /// Names that the backend restricts.
    static let restricted: [Case] = [
        Case("elasticsearch", "index") { .elasticsearch(index: $0) },
        Case("loki", "tenant") { .loki(labels: ["app": "shop"], tenant: $0) },
        Case("kafka", "topic") { .kafka(topic: $0) },
        Case("kafkaV3", "cluster") { .kafkaV3(cluster: $0, topic: "t") },
        Case("kafkaV3", "topic") { .kafkaV3(cluster: "c", topic: $0) },
        Case("splunk", "index") { .splunk(token: "t", index: $0) },
        Case("kinesis", "stream") { .kinesis(stream: $0, region: "r") },
        Case("kinesis", "region") { .kinesis(stream: "s", region: $0) },
        Case("firehose", "stream") { .firehose(stream: $0, region: "r") },
        Case("firehose", "region") { .firehose(stream: "s", region: $0) },
        Case("objects", "region") { .objects(region: $0) },
        Case("telemetryDeck", "namespace") { .telemetryDeck(appID: "a", namespace: $0) },
        Case("snowplow", "vendor") { .snowplow(appID: "shop", vendor: $0) },
    ]

    /// Ids that the backend gives, and those that it accepts.
    static let ids: [(row: Case, accepted: [String])] = [
        (Case("mixpanel", "project") { .mixpanel(project: $0, user: "u", secret: "s") }, ["1", "2713", "4294967296"]),
        (Case("matomo", "site") { .matomo(site: $0, token: "t") }, ["1", "90", "100000"]),
        (
            Case("googleAnalytics", "measurementID") { .googleAnalytics(measurementID: $0, apiSecret: "s") },
            ["G-1", "G-12345", "G-ABC123DEF4"]
        ),
    ]

    /// Texts that no backend accepts: from files with an end, from spreadsheets, from web pages and from editors.
    static let wrongTexts = [
        "phc_x\n", "phc_x\r\n", "\nphc_x", "phc_x\r", "phc\n_x", "phc\u{0}_x", "phc_x\t", "\tphc_x", "phc\t_x",
        "phc_x ", " phc_x", "phc_x\u{7F}", "phc_x\u{A0}", "\u{3000}phc_x", "\u{FEFF}phc_x", "phc_x\u{200B}",
        "phc\u{2028}_x", "phc\u{85}_x", "\u{202E}phc_x", "phc\u{1B}[0m_x", "phc_x\u{B}", "phc_x\u{E0020}",
    ]

    static let blankTexts = [
        "", " ", "\t", "\n", "\r\n", "  \n", "\u{A0}", "\u{3000}", "\u{200B}", "\u{200D}", "\u{FEFF}", "\u{2028}",
        "\u{0}",
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
        "a newline from a file, an invisible character and a blank at an end are errors that name the argument",
        arguments: keys + names + restricted + ids.map(\.row))
    func wrongTextIsError(row: Case) { for value in Self.wrongTexts { expectError(row, value) } }

    @Test("a blank text is an error", arguments: keys + names + restricted + ids.map(\.row))
    func blankTextIsError(row: Case) {
        // A user can have an empty password, and the salt is optional.
        for value in Self.blankTexts where !value.isEmpty || !["password", "salt"].contains(row.argument) {
            expectError(row, value)
        }
    }

    @Test(
        "a key with a space inside or a character beyond ASCII is an error",
        arguments: keys + restricted.filter { $0.format != "elasticsearch" } + ids.map(\.row))
    func oddKeyIsError(row: Case) {
        for value in ["phc_x y", "phc_x\u{E9}", "phc\u{200D}_x", "phc_x\u{430}", "\u{1F511}"] {
            expectError(row, value)
        }
    }

    @Test("a name that the backend refuses is an error", arguments: restricted)
    func refusedNameIsError(row: Case) {
        for value in [
            "my events", "a/b", "a\\b", "a,b", "a\"b", "a<b", "a|b", "a?b", "a#b", "a:b", ".", "..", "a b c",
        ] {
            expectError(row, value)
        }
        if !["cluster", "region", "namespace", "vendor"].contains(row.argument), row.format != "splunk" {
            expectError(row, String(repeating: "a", count: 256))
        }
        if row.format == "splunk" {
            for value in ["Events", "eventS", "_internal", "-events", "_", "kvstore", "my-kvstore_2"] {
                expectError(row, value)
            }
        }
        // Elasticsearch accepts small letters of all languages.
        if row.format != "elasticsearch" {
            expectError(row, "\u{4E8B}\u{4EF6}")
        } else {
            for value in [
                "Events", "_events", "-events", "+events", "<", "<>", "<..>", "<events-{now/d}", "<events-{now/d>",
                "<events-now/d}>", "<events-{now/d{yyyy}>", "<events-{now/d{{yyyy}}}>", "<Events-{now/d}>",
                "<_events-{now/d}>", "<my events-{now/d}>", "<a,b-{now/d}>", "<a\\b-{now/d}>", "<a/b-{now/d}>",
                "<events-{now/d{yyyy MM}}>", "<events-{now/d,now/M}>", "<events-{now\\d}>", "<a>-{now/d}>",
            ] {
                expectError(row, value)
            }
        }
    }

    @Test("an id that the backend can't have given is an error", arguments: ids.indices)
    func refusedIDIsError(index: Int) throws {
        for value in [
            "0", "-1", "+1", "01", "1.5", "1e3", "1;2", "abc", "all", "my-project", "99999999999999999999", "UA-1-1",
            "G-1&api_secret=z", "G-", "G1", "G-1-2", "g-1", "G-abc", "GT-1", "AW-1", "G_1",
        ] {
            expectError(Self.ids[index].row, value)
        }
        for value in Self.ids[index].accepted { try Self.ids[index].row.make(value).validate() }
    }

    @Test("names that the backend accepts are accepted", arguments: restricted)
    func acceptedNameIsAccepted(row: Case) throws {
        for value in ["events", "shop-events", "e2"] { try row.make(value).validate() }
        try HTTPFormat.kafka(topic: "Shop.events_v2-" + String(repeating: "a", count: 234)).validate()
        try HTTPFormat.kafkaV3(cluster: "lkc-1", topic: "_confluent.x").validate()
        for index in ["<events-{now/d}>", "<{now/d}-events>", "<a-{now/M-1M{yyyy.MM|+12:00}}-b-{now/d}>"] {
            try HTTPFormat.elasticsearch(index: index).validate()
        }
        try HTTPFormat.telemetryDeck(appID: "a", namespace: "com.example").validate()
        try HTTPFormat.elasticsearch(index: ".ds-\u{4E8B}").validate()
        try HTTPFormat.loki(labels: [:], tenant: "team-a_(1)!.*'").validate()
        try HTTPFormat.splunk(token: "t", index: "2_internal-kv-store").validate()
        try HTTPFormat.snowplow(appID: "shop", vendor: "com.Example-1_x").validate()
        try HTTPFormat.kinesis(stream: String(repeating: "a", count: 128), region: "eu-central-1").validate()
    }

    @Test("a name may have blanks and characters of all languages inside", arguments: names)
    func otherTextIsAccepted(row: Case) throws {
        for value in [
            "my events", "\u{4E8B}\u{4EF6}", "\u{E9}t\u{E9} 2026", "\u{1F468}\u{200D}\u{1F469}", "a,c;d'e",
        ] {
            try row.make(value).validate()
        }
    }

    @Test(
        "a colon is an error in a user of Basic authentication only",
        arguments: [
            Case("segment", "writeKey") { .segment(writeKey: $0) },
            Case("rudderStack", "writeKey") { .rudderStack(writeKey: $0) },
            Case("mixpanel", "token") { .mixpanel(token: $0) },
            Case("mixpanel", "user") { .mixpanel(project: "7", user: $0, secret: "s") },
            Case("influxDBV1", "user") { .influxDBV1(database: "d", user: $0) },
        ])
    func colonInUserIsError(row: Case) throws {
        expectError(row, "phc_x:y")
        for other in Self.names where other.testDescription != "influxDBV1 user" { try other.make("a:b").validate() }
    }

    @Test("usual arguments are accepted", arguments: keys + names)
    func usualArgumentIsAccepted(row: Case) throws {
        for value in ["phc_x", "a-b.c_d", "AbC012=="] { try row.make(value).validate() }
        let labels = [String(repeating: "a", count: 1_024): String(repeating: "b", count: 2_048)]
        for format in [
            HTTPFormat.loki(labels: labels), .influxDB(bucket: "my bucket_", token: "t"), .objects(region: "r"),
            .influxDBV1(database: "d", user: "u", password: ""), .kinesis(stream: "s", region: "r"),
        ] { try format.validate() }
        try HTTPFormat.clickHouse(table: "t", user: "u", password: "").validate()
        try HTTPFormat.sensors().validate()
    }

    /// Labels that Loki refuses.
    private static let wrongLabels: [[String: String]] =
        ["", "1a", "a-b", "a b", "\u{E4}", "a.b", String(repeating: "a", count: 1_025)].map { [$0: "x"] } + [
            ["app": String(repeating: "\u{E9}", count: 1_025)],
            Dictionary(uniqueKeysWithValues: (0..<16).map { ("l\($0)", "x") }),
        ]

    /// The wrong argument of a format, or the missing one.
    static let wrongFormats: [(argument: String, format: HTTPFormat)] =
        [
            ("bucket", .influxDB(bucket: "_monitoring", token: "t")),
            ("bucket", .influxDB(bucket: "a\"b", token: "t")), ("region", .kinesis(stream: "s", region: "-")),
            ("region", .firehose(stream: "s", region: "us-")), ("region", .objects(region: "-1")),
            ("secretKey", .firehose(stream: "s", region: "r", accessKey: "a")),
            ("accessKey", .firehose(stream: "s", region: "r", secretKey: "s")),
            ("secretKey", .objects(region: "r", accessKey: "a")), ("accessKey", .objects(region: "r", secretKey: "s")),
        ] + wrongLabels.map { ("labels", .loki(labels: $0)) }
        // Names, and different ids above 0.
        + [["a": 0], ["a": 1, "b": 1], ["a": -1], ["": 1], ["plan\n": 1], ["\u{200B}": 1]]
        .map { ("dimensions", .matomo(site: "1", token: "t", dimensions: $0)) }

    @Test("an argument that the backend's documentation excludes is an error", arguments: wrongFormats)
    func wrongFormatIsError(argument: String, format: HTTPFormat) {
        let error = #expect(throws: SluiceError.self) { try format.validate() }
        #expect(error?.code == .invalidArgument && error?.message.contains("argument \(argument) ") == true)
    }
}
