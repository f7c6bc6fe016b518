import Sluice
import SluiceHTTP
import SluiceVendors

/// A format with the arguments that the checkers expect, and the answer of a backend that takes every event.
struct FormatSample: Sendable {
    let name: String
    let format: HTTPFormat
    let url: String
    var answer: @Sendable (HTTPRequest) -> HTTPResponse = { _ in HTTPResponse(status: 200) }

    static let all: [FormatSample] = [
        FormatSample(name: "jsonArray", format: .jsonArray, url: "https://host/events"),
        FormatSample(name: "ndjson", format: .ndjson, url: "https://host/events"),
        FormatSample(name: "fluentBit", format: .fluentBit, url: "https://host:9880/app.events"),
        FormatSample(name: "vector", format: .vector, url: "https://host/"),
        FormatSample(
            name: "clickHouse", format: .clickHouse(table: "events", database: "my db", user: "w", password: "key"),
            url: "https://host:8443/"),
        FormatSample(
            name: "clickHouseLegacy", format: .clickHouseLegacy(table: "wire"),
            url: "http://host:8123/?input_format_import_nested_json=1"),
        FormatSample(name: "elasticsearch", format: .elasticsearch(index: "events"), url: "https://host:9200"),
        FormatSample(name: "otlp", format: .otlp(service: "shop"), url: "https://host:4318"),
        FormatSample(
            name: "loki", format: .loki(labels: ["env": "prod", "app": "shop"], tenant: "t1"), url: "https://host:3100"),
        FormatSample(name: "kafka", format: .kafka(topic: "my.topic"), url: "https://host:8082"),
        FormatSample(name: "kafkaV3", format: .kafkaV3(cluster: "c-1", topic: "events"), url: "https://host/kafka"),
        FormatSample(
            name: "datadog", format: .datadog(apiKey: "key", service: "shop", tags: "env:prod"),
            url: "https://http-intake.logs.datadoghq.com"),
        FormatSample(name: "sensors", format: .sensors(token: "key"), url: "https://host:8106/sa?project=p"),
        FormatSample(
            name: "segment", format: .segment(writeKey: "key"), url: "https://api.segment.io",
            answer: { _ in .json(#"{"success":true}"#) }),
        FormatSample(
            name: "rudderStack", format: .rudderStack(writeKey: "key"), url: "https://plane.example",
            answer: { _ in HTTPResponse(status: 200, body: Array("OK".utf8)) }),
        FormatSample(
            name: "postHog", format: .postHog(apiKey: "key"), url: "https://us.i.posthog.com",
            answer: { _ in .json(#"{"results":{}}"#) }),
        FormatSample(
            name: "postHogBatch", format: .postHogBatch(apiKey: "key"), url: "https://us.i.posthog.com",
            answer: { _ in .json(#"{"status":1}"#) }),
        FormatSample(
            name: "amplitude", format: .amplitude(apiKey: "key"), url: "https://api2.amplitude.com",
            answer: { _ in .json(#"{"code":200}"#) }),
        FormatSample(
            name: "mixpanel", format: .mixpanel(token: "key"), url: "https://api.mixpanel.com",
            answer: { .mixpanel($0) }),
        FormatSample(
            name: "mixpanelAccount", format: .mixpanel(project: "7", user: "svc", secret: "key"),
            url: "https://api.mixpanel.com", answer: { .mixpanel($0) }),
        FormatSample(name: "splunk", format: .splunk(token: "key", index: "main"), url: "https://host:8088"),
        FormatSample(
            name: "influxDB", format: .influxDB(bucket: "my bucket", organization: "shop", token: "key"),
            url: "https://host:8086"),
        FormatSample(
            name: "influxDBV1", format: .influxDBV1(database: "wire", user: "w", password: "key"),
            url: "http://host:8086"),
        FormatSample(
            name: "matomo", format: .matomo(site: "7", token: "key", dimensions: ["title": 1, "price": 2, "tags": 5]),
            url: "https://matomo.example"),
        FormatSample(
            name: "googleAnalytics", format: .googleAnalytics(measurementID: "G-1", apiSecret: "key"),
            url: "https://www.google-analytics.com"),
        FormatSample(
            name: "telemetryDeck", format: .telemetryDeck(appID: "A-1", namespace: "shop", salt: "salt"),
            url: "https://nom.telemetrydeck.com"),
        FormatSample(
            name: "kinesis",
            format: .kinesis(stream: "events", region: "eu-central-1", accessKey: "AKID", secretKey: "key"),
            url: "https://kinesis.eu-central-1.amazonaws.com"),
        FormatSample(
            name: "firehose",
            format: .firehose(stream: "events", region: "eu-central-1", accessKey: "AKID", secretKey: "key"),
            url: "https://firehose.eu-central-1.amazonaws.com"),
        FormatSample(
            name: "objects", format: .objects(region: "eu-central-1", accessKey: "AKID", secretKey: "key"),
            url: "https://shop.s3.eu-central-1.amazonaws.com/events",
            answer: { _ in HTTPResponse(status: 200, headers: [("ETag", "\"1\"")]) }),
        FormatSample(
            name: "snowplow", format: .snowplow(appID: "shop", vendor: "com.example"), url: "https://collector.example"),
    ]
}

extension HTTPResponse {
    static func json(_ text: String) -> HTTPResponse {
        HTTPResponse(status: 200, headers: [("Content-Type", "application/json")], body: Array(text.utf8))
    }

    /// `/import` has an answer of its own; `/engage` and `/groups` return a status.
    static func mixpanel(_ request: HTTPRequest) -> HTTPResponse {
        if request.url.prefix(while: { $0 != "?" && $0 != "#" }).hasSuffix("/import") {
            return .json(#"{"code":200,"status":"OK"}"#)
        }
        return .json(request.url.contains("verbose=1") ? #"{"status":1,"error":null}"# : "1")
    }
}
