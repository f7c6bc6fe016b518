public import Sluice

/// The wire format of a backend, for ``HTTPTransport``.
///
/// ```swift
/// let transport = HTTPTransport(to: "https://search.example:9200", format: .elasticsearch(index: "events"))
/// ```
///
/// The product `SluiceVendors` adds the formats of analytics services. Pass the backend's base URL or the URL of its endpoint. The format adds its path if it is missing. Every format
/// sends the event's id, which the backend or your query can use to drop duplicates. Keys are never printed, not even
/// by `dump`.
public struct HTTPFormat: Sendable {
    let wire: any WireFormat

    /// Wraps a format of your own.
    ///
    /// ```swift
    /// let transport = HTTPTransport(to: "https://shop.example", format: HTTPFormat(CSVFormat()))
    /// ```
    public init(_ format: some WireFormat) {
        wire = format
    }
}

/// A format of your own can wrap a shipped one, and a shipped one is its own base.
extension HTTPFormat: FormatWrapper {
    /// The format itself.
    public var base: HTTPFormat { self }
}

extension HTTPFormat: CustomStringConvertible, CustomReflectable {
    /// The name of the format's type.
    public var description: String { "HTTPFormat(\(type(of: wire)))" }
    /// Empty, since formats contain keys.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

/// Formats for collectors that read the stored lines. The status decides for all events of a request.
extension HTTPFormat {
    /// A JSON array of events, uncompressed.
    public static var jsonArray: HTTPFormat { HTTPFormat(JSONArrayFormat(acceptsGzip: false)) }

    /// A JSON array of events, compressed, for Fluent Bit's `http` input (2.2.1 or later) and other receivers of gzip.
    /// The path of the URL is Fluent Bit's tag.
    ///
    /// ```swift
    /// let transport = HTTPTransport(to: "http://fluent-bit.example:9880/shop.events", format: .fluentBit)
    /// ```
    public static var fluentBit: HTTPFormat { HTTPFormat(JSONArrayFormat(acceptsGzip: true)) }

    /// One JSON object per line, uncompressed, as `application/x-ndjson`.
    ///
    /// Servers behind the core rule set of OWASP refuse this content type with 403, unless their rules are changed. Use
    /// ``jsonArray`` there, or the transport's `headers`.
    public static var ndjson: HTTPFormat { HTTPFormat(NDJSONFormat(acceptsGzip: false)) }

    /// One JSON object per line, compressed, for Vector's `http_server` source and other receivers of gzip.
    ///
    /// ```swift
    /// let transport = HTTPTransport(to: "http://vector.example:8080/events", format: .vector)
    /// ```
    ///
    /// Set `decoding.codec = "json"` in Vector.
    public static var vector: HTTPFormat { HTTPFormat(NDJSONFormat(acceptsGzip: true)) }
}

/// Formats for databases, brokers and log systems.
extension HTTPFormat {
    /// Rows for a ClickHouse table, by `INSERT … FORMAT JSONEachRow`. Requires ClickHouse 22.2 or later.
    ///
    /// ```swift
    /// let transport = HTTPTransport(
    ///     to: "https://clickhouse.example:8443/?async_insert=1",
    ///     format: .clickHouse(table: "events", user: "shop", password: secret))
    /// ```
    ///
    /// The columns are the keys of the stored line: `id`, `event`, `time` (for `DateTime64(3)`), `distinct_id`,
    /// `properties` and so on. Keys without a column are skipped. A deduplication token identifies
    /// retries. You can add settings, such as `async_insert`, to the URL's query.
    ///
    /// - Parameters:
    ///   - table: The table's name without its database.
    ///   - database: The database's name.
    ///   - user: The user, or nil for the server's default user and for authentication by headers or a signature.
    ///   - password: The user's password.
    /// - Returns: The format.
    public static func clickHouse(
        table: String, database: String = "default", user: String? = nil, password: String? = nil
    ) -> HTTPFormat {
        HTTPFormat(ClickHouseFormat(table: table, database: database, user: user, password: password, isLegacy: false))
    }

    /// Rows for a table of ClickHouse 18.16 (Debian 12) to 22.1. These versions have no deduplication tokens, so the
    /// table's engine or your query must drop duplicates.
    public static func clickHouseLegacy(
        table: String, database: String = "default", user: String? = nil, password: String? = nil
    ) -> HTTPFormat {
        HTTPFormat(ClickHouseFormat(table: table, database: database, user: user, password: password, isLegacy: true))
    }

    /// Documents for an index, an alias or a data stream of Elasticsearch or OpenSearch, by `_bulk`.
    ///
    /// ```swift
    /// let transport = HTTPTransport(
    ///     to: "https://search.example:9200", format: .elasticsearch(index: "events"),
    ///     headers: ["Authorization": "ApiKey \(secret)"])
    /// ```
    ///
    /// A document is the stored line with an `@timestamp`. Its `_id` is the event's id, so a retry creates no
    /// duplicate.
    public static func elasticsearch(index: String) -> HTTPFormat { HTTPFormat(ElasticsearchFormat(index: index)) }

    /// Log records for an OpenTelemetry collector, as OTLP/HTTP with JSON.
    ///
    /// ```swift
    /// let transport = HTTPTransport(to: "http://otel.example:4318", format: .otlp(service: "shop"))
    /// ```
    ///
    /// Properties become attributes, beside `event.id`, `distinct_id`, `anonymous_id` and `login_id`. A collector that
    /// rejects some of the records doesn't name them, so the last events of the batch are counted as rejected.
    public static func otlp(service: String) -> HTTPFormat { HTTPFormat(OTLPFormat(service: service)) }

    /// Log lines for Grafana Loki, in one stream, with the event's id as structured metadata.
    ///
    /// ```swift
    /// let transport = HTTPTransport(
    ///     to: "https://loki.example", format: .loki(labels: ["app": "shop", "env": "prod"]))
    /// ```
    ///
    /// - Parameters:
    ///   - labels: At most 15 labels of the stream, such as the app and its environment. Loki keeps a stream for each
    ///     combination of values, so never use the ids of persons. Without labels, the stream is `app="sluice"`.
    ///   - tenant: The `X-Scope-OrgID`, if your Loki has several tenants.
    /// - Returns: The format.
    public static func loki(labels: [String: String], tenant: String? = nil) -> HTTPFormat {
        // Loki requires a label.
        HTTPFormat(LokiFormat(labels: labels.isEmpty ? ["app": "sluice"] : labels, tenant: tenant))
    }

    /// Records for a Kafka topic, by version 2 of Confluent's REST Proxy, Redpanda or Karapace.
    ///
    /// ```swift
    /// let transport = HTTPTransport(to: "http://rest-proxy.example:8082", format: .kafka(topic: "events"))
    /// ```
    ///
    /// The value of a record is the stored line. Its key is the distinct id, which keeps a person's events in order.
    /// Consumers can drop duplicates by `id`.
    public static func kafka(topic: String) -> HTTPFormat { HTTPFormat(KafkaFormat(topic: topic)) }

    /// Records for a Kafka topic, by version 3 of Confluent's REST API.
    ///
    /// ```swift
    /// let transport = HTTPTransport(
    ///     to: "https://pkc-1.example.confluent.cloud/kafka", format: .kafkaV3(cluster: "lkc-1", topic: "events"),
    ///     headers: ["Authorization": "Basic \(secret)"])
    /// ```
    ///
    /// The records are those of ``kafka(topic:)``, with the event's id in the header `event_id`. At Confluent Cloud,
    /// the URL ends with `/kafka`.
    public static func kafkaV3(cluster: String, topic: String) -> HTTPFormat {
        HTTPFormat(KafkaV3Format(cluster: cluster, topic: topic))
    }

    /// Log entries for Datadog.
    ///
    /// ```swift
    /// let transport = HTTPTransport(
    ///     to: "https://http-intake.logs.datadoghq.com",
    ///     format: .datadog(apiKey: secret, service: "shop", tags: "env:prod,version:2"))
    /// ```
    ///
    /// The message is the event's name, and `event_id` is its id. Use the URL of your Datadog site.
    public static func datadog(apiKey: String, service: String, tags: String? = nil) -> HTTPFormat {
        HTTPFormat(DatadogFormat(apiKey: apiKey, service: service, tags: tags))
    }

    /// Records for a stream of Amazon Kinesis. The URL is the endpoint of the region.
    ///
    /// ```swift
    /// let transport = HTTPTransport(
    ///     to: "https://kinesis.eu-central-1.amazonaws.com",
    ///     format: .kinesis(stream: "events", region: "eu-central-1", accessKey: token(), secretKey: secret))
    /// ```
    ///
    /// The data of a record is the stored line. Its partition key is the distinct id, which keeps a person's events in order
    /// unless some of them are throttled. Consumers can drop duplicates by `id`.
    ///
    /// - Parameters:
    ///   - stream: The stream's name.
    ///   - region: The region, which is signed.
    ///   - accessKey: The id of the access key. For temporary keys leave out both keys, and call
    ///     ``HTTPRequest/signForAWS(accessKey:secretKey:sessionToken:region:service:)`` in the transport's `sign`.
    ///   - secretKey: The secret access key.
    /// - Returns: The format.
    public static func kinesis(
        stream: String, region: String, accessKey: String? = nil, secretKey: String? = nil
    ) -> HTTPFormat {
        HTTPFormat(
            AWSStreamFormat(
                isFirehose: false, stream: stream, region: region, accessKey: accessKey, secretKey: secretKey))
    }

    /// Records for a stream of Amazon Data Firehose, each a stored line with a newline. The URL is the endpoint of the region,
    /// such as `https://firehose.eu-central-1.amazonaws.com`. See ``kinesis(stream:region:accessKey:secretKey:)``.
    public static func firehose(
        stream: String, region: String, accessKey: String? = nil, secretKey: String? = nil
    ) -> HTTPFormat {
        HTTPFormat(
            AWSStreamFormat(
                isFirehose: true, stream: stream, region: region, accessKey: accessKey, secretKey: secretKey))
    }

    /// Compressed files of JSON lines in a bucket of Amazon S3, or of a store that speaks its protocol, such as MinIO. The URL is
    /// the bucket's, with a folder if you like.
    ///
    /// ```swift
    /// let pipeline = try Pipeline(delivery: .files) {
    ///     JSONLStore(at: queueDirectory, capacity: 100 << 20)
    ///     HTTPTransport(
    ///         to: "https://shop.s3.eu-central-1.amazonaws.com/events",
    ///         format: .objects(region: "eu-central-1", accessKey: token(), secretKey: secret))
    /// }
    /// ```
    ///
    /// The objects are those of a `FileTransport`: `date=2026-11-27/<id>-<hash>-<count>.ndjson.gz`, by the dates of the events. A
    /// batch with several dates is as many requests. A request that is sent once more has the same name, and its events count as
    /// duplicates. After a lost response, the next one can have other events, and another name. Without zlib, the objects aren't compressed and end with `.ndjson`.
    ///
    /// - Parameters:
    ///   - region: The region, which is signed. Most other stores take `us-east-1`.
    ///   - accessKey: The id of the access key. For temporary keys leave out both keys, and call
    ///     ``HTTPRequest/signForAWS(accessKey:secretKey:sessionToken:region:service:)`` in the transport's `sign`, with the
    ///     service `s3`.
    ///   - secretKey: The secret access key.
    ///   - partition: A folder for each date or for each hour, in UTC.
    ///   - replaces: Whether a repeated object replaces the one with its name, which has the same events. Use this for a store
    ///     that doesn't know `If-None-Match`.
    /// - Returns: The format.
    public static func objects(
        region: String, accessKey: String? = nil, secretKey: String? = nil, partition: EventPartition = .day,
        replaces: Bool = false
    ) -> HTTPFormat {
        HTTPFormat(
            ObjectFormat(
                region: region, accessKey: accessKey, secretKey: secretKey, replaces: replaces,
                calendar: EventCalendar(partition) { _ in .zero }))
    }

    /// Events for Splunk's HTTP Event Collector.
    ///
    /// ```swift
    /// let transport = HTTPTransport(to: "https://splunk.example:8088", format: .splunk(token: secret, index: "app"))
    /// ```
    ///
    /// The event is the stored line, with its time. A token with indexer acknowledgement isn't supported: it counts
    /// as a refusal.
    ///
    /// - Parameters:
    ///   - token: The collector's token.
    ///   - index: The index, or nil for the token's default.
    ///   - sourceType: The source type.
    /// - Returns: The format.
    public static func splunk(token: String, index: String? = nil, sourceType: String = "_json") -> HTTPFormat {
        HTTPFormat(SplunkFormat(token: token, index: index, sourceType: sourceType))
    }

    /// Points for a bucket of InfluxDB 2 or 3, or of its clouds, in the line protocol.
    ///
    /// ```swift
    /// let transport = HTTPTransport(
    ///     to: "https://influx.example:8086", format: .influxDB(bucket: "events", organization: "shop", token: secret))
    /// ```
    ///
    /// The measurement is the event's name. Ids and properties are fields; lists and objects are JSON in a string. A
    /// field has one type, and integers are written as floats, because a property is often 12 in one event and 12.5 in another.
    /// An event that has a text in the place of a number, or the reverse, becomes a dead letter.
    ///
    /// - Parameters:
    ///   - bucket: The bucket's name, or the database's name at InfluxDB 3.
    ///   - organization: The organization's name, if the server needs one.
    ///   - token: A token that may write.
    ///   - keepsIntegers: Whether integers are InfluxDB's integers. Use this if your properties never change between
    ///     integers and fractions, or if they have integers beyond 2^53, which floats round.
    /// - Returns: The format.
    public static func influxDB(
        bucket: String, organization: String? = nil, token: String, keepsIntegers: Bool = false
    ) -> HTTPFormat {
        HTTPFormat(
            InfluxDBFormat(
                target: .bucket(bucket, organization: organization, token: token), keepsIntegers: keepsIntegers))
    }

    /// Points for a database of InfluxDB 1, such as the 1.6 of Debian, in the line protocol. See
    /// ``influxDB(bucket:organization:token:keepsIntegers:)``.
    public static func influxDBV1(
        database: String, user: String? = nil, password: String? = nil, keepsIntegers: Bool = false
    ) -> HTTPFormat {
        HTTPFormat(
            InfluxDBFormat(target: .database(database, user: user, password: password), keepsIntegers: keepsIntegers))
    }
}
