public import SluiceHTTP

/// Formats for analytics services.
extension HTTPFormat {
    /// Calls for Segment, compressed. The URL is `https://api.segment.io` or the one of the EU.
    ///
    /// ```swift
    /// let transport = HTTPTransport(to: "https://api.segment.io", format: .segment(writeKey: secret))
    /// ```
    ///
    /// Events of `Identity` and `Screens` become `identify`, `alias`, `group` and `screen`, and all others `track`. The
    /// `userId` is the login id, or a distinct id without an anonymous one. An event without any id of a person has its
    /// own id as `anonymousId`.
    public static func segment(writeKey: String) -> HTTPFormat { HTTPFormat(SegmentFormat(writeKey: writeKey)) }

    /// Calls for RudderStack, in Segment's format. The URL is the one of your data plane.
    ///
    /// ```swift
    /// let transport = HTTPTransport(to: "https://dataplane.example", format: .rudderStack(writeKey: secret))
    /// ```
    ///
    /// Each event has an `originalTimestamp` and a `sentAt`, from which RudderStack corrects the time of a wrong clock.
    /// For servers before 1.4, turn off gzip in the transport's configuration.
    public static func rudderStack(writeKey: String) -> HTTPFormat {
        HTTPFormat(SegmentFormat(writeKey: writeKey, isRudderStack: true))
    }

    /// Events for PostHog, by version 1 of its capture API. The URL is `https://us.i.posthog.com`, the one of the EU, or
    /// your own server.
    ///
    /// ```swift
    /// let transport = HTTPTransport(to: "https://eu.i.posthog.com", format: .postHog(apiKey: secret))
    /// ```
    ///
    /// PostHog returns a result for each event. An event that it drops, also because a quota is used up, becomes a dead
    /// letter. Servers that respond with 404 need ``postHogBatch(apiKey:isHistoricalMigration:locatesUsers:)``.
    ///
    /// - Parameters:
    ///   - apiKey: The project's key.
    ///   - isHistoricalMigration: Whether the events are old, for PostHog's slower ingestion of imports.
    ///   - locatesUsers: Whether PostHog derives a location from the address of the request. Nil means yes on devices,
    ///     and no on Linux, where it is the address of a data center.
    /// - Returns: The format.
    public static func postHog(
        apiKey: String, isHistoricalMigration: Bool = false, locatesUsers: Bool? = nil
    ) -> HTTPFormat {
        HTTPFormat(
            PostHogFormat(
                apiKey: apiKey, isHistoricalMigration: isHistoricalMigration,
                records: PostHogRecords(locatesUsers: locatesUsers ?? runsOnDevice)))
    }

    /// Events for PostHog servers of your own from before November 2026, by `/batch`.
    ///
    /// ```swift
    /// let transport = HTTPTransport(to: "https://posthog.example", format: .postHogBatch(apiKey: secret))
    /// ```
    ///
    /// While the project's quota is used up, PostHog drops events with status 200. This counts as a refusal, and the events are kept.
    /// It has the same parameters as ``postHog(apiKey:isHistoricalMigration:locatesUsers:)``.
    public static func postHogBatch(
        apiKey: String, isHistoricalMigration: Bool = false, locatesUsers: Bool? = nil
    ) -> HTTPFormat {
        HTTPFormat(
            PostHogBatchFormat(
                apiKey: apiKey, isHistoricalMigration: isHistoricalMigration,
                records: PostHogRecords(locatesUsers: locatesUsers ?? runsOnDevice)))
    }

    /// Events for Mixpanel, by `/import` with the project's token. The URL is `https://api.mixpanel.com`, or the one of
    /// the EU or India.
    ///
    /// ```swift
    /// let transport = HTTPTransport(to: "https://api.mixpanel.com", format: .mixpanel(token: secret))
    /// ```
    ///
    /// Changes of profiles are sent to `/engage` and groups to `/groups`, in separate requests.
    ///
    /// - Parameters:
    ///   - token: The project's token.
    ///   - locatesUsers: Whether Mixpanel derives a location from the address of the request. Nil means yes on devices,
    ///     and no on Linux, where it is the address of a data center.
    /// - Returns: The format.
    public static func mixpanel(token: String, locatesUsers: Bool? = nil) -> HTTPFormat {
        HTTPFormat(
            MixpanelFormat(
                user: token, password: "", project: nil, token: token, locatesUsers: locatesUsers ?? runsOnDevice))
    }

    /// Events for Mixpanel, by `/import` with a service account and the project's id.
    ///
    /// ```swift
    /// let format = HTTPFormat.mixpanel(project: "2713", user: "shop.a1b2", secret: secret, token: token())
    /// ```
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

    /// Events for Amplitude. The URL is `https://api2.amplitude.com` or the one of the EU.
    ///
    /// ```swift
    /// let transport = HTTPTransport(to: "https://api2.amplitude.com/batch", format: .amplitude(apiKey: secret))
    /// ```
    ///
    /// A URL that ends with `/batch` uses the batch endpoint.
    ///
    /// - Parameters:
    ///   - apiKey: The project's key.
    ///   - locatesUsers: Whether Amplitude derives a location from the address of the request. Nil means yes on
    ///     devices, and no on Linux, where it is the address of a data center.
    /// - Returns: The format.
    public static func amplitude(apiKey: String, locatesUsers: Bool? = nil) -> HTTPFormat {
        HTTPFormat(AmplitudeFormat(apiKey: apiKey, locatesUsers: locatesUsers ?? runsOnDevice))
    }

    /// Records for Sensors Analytics. The URL is the whole URL of the project. Pass a token if the URL doesn't contain
    /// one.
    ///
    /// ```swift
    /// let transport = HTTPTransport(to: "https://sensors.example:8106/sa?project=shop", format: .sensors(token: secret))
    /// ```
    ///
    /// The events of `Identity` become Sensors' own types, such as `profile_set`, and all others become `track`. The
    /// status decides for all events of a request.
    public static func sensors(token: String? = nil) -> HTTPFormat { HTTPFormat(SensorsFormat(token: token)) }

    /// Requests for Matomo, by its bulk tracking. The URL is that of your Matomo server.
    ///
    /// ```swift
    /// let format = HTTPFormat.matomo(site: "1", token: secret, dimensions: ["plan": 1])
    /// ```
    ///
    /// Screens are page views and revenue is an order; any other event has the category `app`. The only properties that
    /// Matomo gets are `value` and the ones with a dimension. If an event is sent twice, Matomo counts it twice.
    ///
    /// - Parameters:
    ///   - site: The id of the site.
    ///   - token: A `token_auth` with write access, which events from before the last 24 hours need.
    ///   - dimensions: The ids of custom dimensions for actions, by the names of properties.
    /// - Returns: The format.
    public static func matomo(site: String, token: String, dimensions: [String: Int] = [:]) -> HTTPFormat {
        HTTPFormat(MatomoFormat(site: site, token: token, dimensions: dimensions))
    }

    /// Events for a web stream of Google Analytics 4, by the Measurement Protocol. The URL is
    /// `https://www.google-analytics.com`, or `https://region1.google-analytics.com` in the EU.
    ///
    /// ```swift
    /// let format = HTTPFormat.googleAnalytics(measurementID: "G-12345", apiSecret: secret)
    /// ```
    ///
    /// Google confirms every request, even with a wrong secret or an event that it drops. The events of each person
    /// need a request of their own, so the format suits devices rather than servers. An event has at most 25
    /// parameters, with letters, digits and `_` in their names, and at most 100 characters in a value.
    public static func googleAnalytics(measurementID: String, apiSecret: String) -> HTTPFormat {
        HTTPFormat(GoogleAnalyticsFormat(measurementID: measurementID, apiSecret: apiSecret))
    }

    /// Signals for TelemetryDeck. The URL is `https://nom.telemetrydeck.com`.
    ///
    /// ```swift
    /// let format = HTTPFormat.telemetryDeck(appID: "1B2C…", namespace: "com.example", salt: secret)
    /// ```
    ///
    /// - Parameters:
    ///   - appID: The app's id.
    ///   - namespace: Your organization's namespace, if the URL doesn't contain it.
    ///   - salt: Random characters, always the same ones. The id of a person is sent as a SHA-256 of the id and the salt.
    ///   - isTestMode: Whether the signals are left out of queries for production.
    /// - Returns: The format.
    public static func telemetryDeck(
        appID: String, namespace: String? = nil, salt: String = "", isTestMode: Bool = false
    ) -> HTTPFormat {
        HTTPFormat(TelemetryDeckFormat(appID: appID, namespace: namespace, salt: salt, isTestMode: isTestMode))
    }

    /// Self-describing events for Snowplow. The URL is the one of your collector.
    ///
    /// ```swift
    /// let transport = HTTPTransport(
    ///     to: "https://collector.example", format: .snowplow(appID: "shop", vendor: "com.example"))
    /// ```
    ///
    /// The schema of an event is `iglu:VENDOR/NAME/jsonschema/1-0-0`, with the event's name after its `$`. Put these schemas
    /// into your Iglu repository. The `eid` is the event's id.
    ///
    /// - Parameters:
    ///   - appID: The app's id.
    ///   - vendor: The vendor of your schemas.
    /// - Returns: The format.
    public static func snowplow(appID: String, vendor: String) -> HTTPFormat {
        HTTPFormat(SnowplowFormat(appID: appID, vendor: vendor))
    }

    /// Whether requests come from the user's own device.
    static var runsOnDevice: Bool {
        #if os(Linux) || os(Windows)
            false
        #else
            true
        #endif
    }
}
