import HTTPTestSupport
import Sluice
import SluiceHTTP
import TestSupport

@testable import SluiceVendors

extension FormatSample {
    /// The id of Segment's format.
    static let instance = EventID(high: 0x019B_7705_8C00_7000, low: 0x8000_0000_FFFF_7777)

    static let vendors: [FormatSample] = [
        FormatSample("sensors", .sensors(token: secret), "https://host:8106/sa?project=p"),
        FormatSample(
            "segment", HTTPFormat(SegmentFormat(writeKey: secret, instanceID: instance)), "https://api.segment.io"),
        FormatSample("postHog", .postHog(apiKey: secret, locatesUsers: false), "https://us.i.posthog.com"),
        FormatSample("postHogBatch", .postHogBatch(apiKey: secret, locatesUsers: false), "https://us.i.posthog.com"),
        FormatSample("mixpanel", .mixpanel(token: secret, locatesUsers: false), "https://api.mixpanel.com"),
        FormatSample(
            "mixpanelAccount", .mixpanel(project: "7", user: "svc", secret: secret, locatesUsers: false),
            "https://api.mixpanel.com/import"),
        FormatSample("amplitude", .amplitude(apiKey: secret, locatesUsers: false), "https://api2.amplitude.com"),
        FormatSample(
            "matomo", .matomo(site: "7", token: secret, dimensions: ["s": 1, "n": 2]), "https://matomo.example"),
        FormatSample(
            "googleAnalytics", .googleAnalytics(measurementID: "G-1", apiSecret: secret),
            "https://www.google-analytics.com"),
        FormatSample(
            "telemetryDeck", .telemetryDeck(appID: "A-1", namespace: "shop", salt: secret),
            "https://nom.telemetrydeck.com"),
        FormatSample("snowplow", .snowplow(appID: "shop", vendor: "com.example"), "https://collector.example"),
    ]

    static let all = open + vendors

    /// Also has RudderStack's format, which is Segment's otherwise.
    static func named(_ name: String) throws -> FormatSample {
        try (all + [FormatSample("rudderStack", .rudderStack(writeKey: "k"), "https://host")]).named(name)
    }
}
