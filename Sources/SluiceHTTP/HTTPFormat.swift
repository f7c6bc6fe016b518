/// The wire format of a backend, for ``HTTPTransport``.
///
/// ```swift
/// HTTPTransport(to: "https://api.segment.io", format: .segment(writeKey: "…"))
/// ```
///
/// Pass the backend's base URL or the URL of its endpoint: the format adds its path if it is missing. Every format sends
/// the event's id, so that the backend or your query can drop duplicates. Keys are never printed, not even by `dump`.
public struct HTTPFormat: Sendable {
    let wire: any WireFormat

    /// Wraps a format of your own.
    public init(_ format: some WireFormat) {
        wire = format
    }
}

extension HTTPFormat: CustomStringConvertible, CustomReflectable {
    /// The name of the format's type.
    public var description: String { "HTTPFormat(\(type(of: wire)))" }
    /// Empty, since formats contain keys.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

/// Formats for collectors that read the stored lines. The status alone decides, for all events alike.
extension HTTPFormat {
    /// A JSON array of events, uncompressed.
    public static var jsonArray: HTTPFormat { HTTPFormat(JSONArrayFormat(acceptsGzip: false)) }

    /// A JSON array of events, compressed, for Fluent Bit's `http` input (2.2.1 or later) and other receivers of gzip. The
    /// path of the URL is Fluent Bit's tag.
    public static var fluentBit: HTTPFormat { HTTPFormat(JSONArrayFormat(acceptsGzip: true)) }

    /// One JSON object per line, uncompressed.
    public static var ndjson: HTTPFormat { HTTPFormat(NDJSONFormat(acceptsGzip: false)) }

    /// One JSON object per line, compressed, for Vector's `http_server` source and other receivers of gzip. Set
    /// `decoding.codec = "json"` in Vector.
    public static var vector: HTTPFormat { HTTPFormat(NDJSONFormat(acceptsGzip: true)) }
}

/// Formats for databases, brokers and log systems.
extension HTTPFormat {
    /// Rows for a ClickHouse table, by `INSERT … FORMAT JSONEachRow`. Requires ClickHouse 22.2 or later.
    ///
    /// The columns are the keys of the stored line: `id`, `event`, `time` (milliseconds, for `DateTime64(3)`),
    /// `distinct_id`, `properties` and so on. Keys without a column are skipped. A deduplication token identifies retries.
    /// Put settings such as `async_insert` into the URL's query.
    ///
    /// - Parameters:
    ///   - table: The table's name without its database.
    ///   - database: The database's name.
    ///   - user: Nil for the server's default user, or if your headers or signature log in.
    ///   - password: The user's password.
    /// - Returns: The format.
    public static func clickHouse(
        table: String, database: String = "default", user: String? = nil, password: String? = nil
    ) -> HTTPFormat {
        HTTPFormat(ClickHouseFormat(table: table, database: database, user: user, password: password, isLegacy: false))
    }

    /// Rows for a table of ClickHouse 18.16 (Debian 12) to 22.1, which don't have deduplication tokens: let the table's
    /// engine or your query drop duplicates.
    public static func clickHouseLegacy(
        table: String, database: String = "default", user: String? = nil, password: String? = nil
    ) -> HTTPFormat {
        HTTPFormat(ClickHouseFormat(table: table, database: database, user: user, password: password, isLegacy: true))
    }

    /// Documents for an index, an alias or a data stream of Elasticsearch or OpenSearch, by `_bulk`. A document is the
    /// stored line with an `@timestamp`; its `_id` is the event's id, so that a retry creates no duplicate. Put credentials
    /// into the transport's headers.
    public static func elasticsearch(index: String) -> HTTPFormat { HTTPFormat(ElasticsearchFormat(index: index)) }

    /// Log records for an OpenTelemetry collector, as OTLP/HTTP with JSON. Properties become attributes, beside `event.id`,
    /// `distinct_id`, `anonymous_id` and `login_id`. A collector that rejects some of the records doesn't return which: the
    /// last events of the batch are then counted as rejected.
    public static func otlp(service: String) -> HTTPFormat { HTTPFormat(OTLPFormat(service: service)) }

    /// Log lines for Grafana Loki, in one stream, with the event's id as structured metadata.
    ///
    /// - Parameters:
    ///   - labels: At most 15 labels of the stream, such as the app and its environment. Loki keeps a stream for each
    ///     combination of values: never use ids of persons. Without labels the stream is `app="sluice"`.
    ///   - tenant: The `X-Scope-OrgID`, if your Loki has several tenants.
    /// - Returns: The format.
    public static func loki(labels: [String: String], tenant: String? = nil) -> HTTPFormat {
        HTTPFormat(LokiFormat(labels: labels, tenant: tenant))
    }

    /// Records for a Kafka topic, by version 2 of Confluent's REST Proxy, Redpanda or Karapace. The value is the stored
    /// line. The key is the distinct id, which keeps a person's events in order. Let consumers drop duplicates by `id`.
    public static func kafka(topic: String) -> HTTPFormat { HTTPFormat(KafkaFormat(topic: topic)) }

    /// Records for a Kafka topic, by version 3 of Confluent's REST API: as ``kafka(topic:)``, with the event's id in the
    /// header `event_id`. The URL ends with `/kafka` at Confluent Cloud. Put credentials into the transport's headers.
    public static func kafkaV3(cluster: String, topic: String) -> HTTPFormat {
        HTTPFormat(KafkaV3Format(cluster: cluster, topic: topic))
    }

    /// Log entries for Datadog, with the event's name as the message, its id in `event_id`, and tags such as
    /// `env:prod,version:2`. The URL is `https://http-intake.logs.datadoghq.com` or that of your site.
    public static func datadog(apiKey: String, service: String, tags: String? = nil) -> HTTPFormat {
        HTTPFormat(DatadogFormat(apiKey: apiKey, service: service, tags: tags))
    }
}

/// Formats for analytics services.
extension HTTPFormat {
    /// Calls for Segment, compressed: `identify`, `alias`, `group` and `screen` for the events that mean it, and `track` for
    /// all others. The URL is `https://api.segment.io` or that of the EU. The login id, or a distinct id without an
    /// anonymous one, is the `userId`. An event without any id of a person has its own id as `anonymousId`.
    public static func segment(writeKey: String) -> HTTPFormat { HTTPFormat(SegmentFormat(writeKey: writeKey)) }

    /// Calls for RudderStack, in Segment's format. Each event has its `originalTimestamp` and `sentAt`, from which RudderStack
    /// corrects the time if the clock is wrong. The URL is that of your data plane. For servers before 1.4, turn off gzip in the
    /// transport's configuration.
    public static func rudderStack(writeKey: String) -> HTTPFormat {
        HTTPFormat(SegmentFormat(writeKey: writeKey, isRudderStack: true))
    }

    /// Events for PostHog. The URL is `https://us.i.posthog.com`, that of the EU, or your own server. While the project's
    /// quota is used up, PostHog drops events with status 200: the route goes on hold instead.
    ///
    /// - Parameters:
    ///   - apiKey: The project's key.
    ///   - isHistoricalMigration: Whether the events are old ones, for PostHog's slower ingestion of imports.
    ///   - locatesUsers: Whether PostHog derives a location from the address of the request. Nil for yes on devices, and no
    ///     on Linux, where it is the address of a data center.
    /// - Returns: The format.
    public static func postHog(
        apiKey: String, isHistoricalMigration: Bool = false, locatesUsers: Bool? = nil
    ) -> HTTPFormat {
        HTTPFormat(
            PostHogFormat(
                apiKey: apiKey, isHistoricalMigration: isHistoricalMigration,
                locatesUsers: locatesUsers ?? runsOnDevice))
    }

    /// Events for Mixpanel, by `/import` with the project's token. The URL is `https://api.mixpanel.com`, or that of the EU
    /// or India. Changes of a profile go to `/engage` and groups to `/groups`, in requests of their own.
    ///
    /// - Parameters:
    ///   - token: The project's token.
    ///   - locatesUsers: Whether Mixpanel derives a location from the address of the request. Nil for yes on devices, and
    ///     no on Linux, where it is the address of a data center.
    /// - Returns: The format.
    public static func mixpanel(token: String, locatesUsers: Bool? = nil) -> HTTPFormat {
        HTTPFormat(
            MixpanelFormat(
                user: token, password: "", project: nil, token: token, locatesUsers: locatesUsers ?? runsOnDevice))
    }

    /// Events for Mixpanel, by `/import` with a service account and the project's id.
    ///
    /// - Parameters:
    ///   - project: The project's id.
    ///   - user: The service account's name.
    ///   - secret: The service account's secret.
    ///   - token: The project's token, for profiles and groups. Without it, their changes are sent as ordinary events.
    ///   - locatesUsers: See ``mixpanel(token:locatesUsers:)``.
    /// - Returns: The format.
    public static func mixpanel(
        project: String, user: String, secret: String, token: String? = nil, locatesUsers: Bool? = nil
    ) -> HTTPFormat {
        HTTPFormat(
            MixpanelFormat(
                user: user, password: secret, project: project, token: token,
                locatesUsers: locatesUsers ?? runsOnDevice))
    }

    /// Events for Amplitude. The URL is `https://api2.amplitude.com` or that of the EU; end it with `/batch` to use the
    /// batch endpoint.
    ///
    /// - Parameters:
    ///   - apiKey: The project's key.
    ///   - locatesUsers: Whether Amplitude derives a location from the address of the request. Nil for yes on devices, and
    ///     no on Linux, where it is the address of a data center.
    /// - Returns: The format.
    public static func amplitude(apiKey: String, locatesUsers: Bool? = nil) -> HTTPFormat {
        HTTPFormat(AmplitudeFormat(apiKey: apiKey, locatesUsers: locatesUsers ?? runsOnDevice))
    }

    /// Records for Sensors Analytics. The URL is the project's whole one, `https://HOST:8106/sa?project=…`; pass a token if
    /// it doesn't contain one. The events of `Identity` become Sensors' own types, such as `profile_set`; all others are
    /// `track`. The status decides for all events alike.
    public static func sensors(token: String? = nil) -> HTTPFormat { HTTPFormat(SensorsFormat(token: token)) }

    /// Whether requests come from the user's own device.
    private static var runsOnDevice: Bool {
        #if os(Linux) || os(Windows)
            false
        #else
            true
        #endif
    }
}
