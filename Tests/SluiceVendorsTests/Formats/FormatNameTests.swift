import Foundation
import HTTPTestSupport
import Sluice
import TestSupport
import Testing

@testable import SluiceHTTP
@testable import SluiceVendors

/// The names of events and properties, as they arrive at each backend.
@Suite("Names in each format")
struct FormatNameTests {
    private static func long(_ count: Int) -> String { String(repeating: "x", count: count) }

    static let names: [String] = [
        "plan", "Plan", "Page View", "Page_View", "page-view", "page.view", "page/view", "page_view", "$plan",
        "sluice_plan", "own_plan", "own_sluice_plan", "$", "$$plan", "\u{8D2D}\u{4E70}", "\u{641C}\u{7D22}",
        "\u{5546}\u{54C1}", "\u{4EF7}\u{683C}", "K\u{E4}se", "Kase", "Stra\u{DF}e",
        "\u{41F}\u{43E}\u{43A}\u{443}\u{43F}\u{43A}\u{430}", "\u{41F}\u{43E}\u{438}\u{441}\u{43A}",
        "\u{634}\u{631}\u{627}\u{621}", "\u{916}\u{930}\u{940}\u{926}", "1st", "2nd", "st", "_x", "x", "#x", "name._x",
        "name.#x", "a\\b", "a_b", "a\nb", "error", "own_error", "own_own_error", "ga_x", "own_ga_x", "session_start",
        "user_id", "id", "id_", "name.id", "time", "properties.time", "properties.properties.time", "event.id",
        "properties.event.id", "distinct_id", long(40), long(41), long(42), "\u{1F600}", "\u{1F601}", "a b,c=d",
        "google-pay", "ga.session", "firebase/x", "gtag x", "own_ga.session", "ga-", "google",
        "Page_View_7y7b7g", "plan_4k7q2m", "order_placed", "day_202611", "plan_3Month", "plan_4k7q2", "plan_4k7q22",
        "plan_4K7q2m", "plan4k7q2m", "plan_k4q7m2",
        // Ordinary names that look like a hash.
        "plan_3month", "finish_level1", "custom_field1", "hash_sha256", "image_base64", "last_30days", "user_email1",
        "screen_1080px", "video_720p60", "total_2024q1", "utm_md5sum", "model_a1b2c3",
    ]

    /// The names that aren't sent as they are. `~` is `_` and three times a digit and a letter, which depend on
    /// the whole name.
    private static let google: [String: String] = [
        "Page View": "Page_View~", "page-view": "page_view~", "page.view": "page_view~", "page/view": "page_view~",
        "$plan": "sluice_plan", "sluice_plan": "own_sluice_plan", "own_sluice_plan": "own_own_sluice_plan",
        "$": "sluice_", "$$plan": "sluice__plan~", "1st": "own_1st", "2nd": "own_2nd", "_x": "own__x", "#x": "own__x~",
        "name._x": "name__x~", "name.#x": "name__x~", "a\\b": "a_b~", "a\nb": "a_b~", "ga_x": "own_ga_x",
        "own_ga_x": "own_own_ga_x", "name.id": "name_id~", "properties.time": "properties_time~",
        "properties.properties.time": "properties_properties_time~", "event.id": "event_id~",
        "properties.event.id": "properties_event_id~", long(41): long(33) + "~", long(42): long(33) + "~",
        "\u{1F600}": "own__~", "\u{1F601}": "own__~", "a b,c=d": "a_b_c_d~",
        "google-pay": "own_google_pay~", "ga.session": "own_ga_session~", "firebase/x": "own_firebase_x~",
        "gtag x": "own_gtag_x~", "own_ga.session": "own_own_ga_session~", "ga-": "own_ga_~",
        "Page_View_7y7b7g": "Page_View_7y7b7g~", "plan_4k7q2m": "plan_4k7q2m~",
    ]

    private static let googleEvents = [
        "error": "own_error", "own_error": "own_own_error", "own_own_error": "own_own_own_error",
        "session_start": "own_session_start",
    ]

    private static let snowplow: [String: String] = [
        "Page View": "Page_View~", "page.view": "page_view~", "page/view": "page_view~", "$plan": "sluice_plan",
        "sluice_plan": "own_sluice_plan", "own_sluice_plan": "own_own_sluice_plan", "$": "sluice_",
        "$$plan": "sluice__plan~", "\u{8D2D}\u{4E70}": "__~", "\u{641C}\u{7D22}": "__~", "\u{5546}\u{54C1}": "__~",
        "\u{4EF7}\u{683C}": "__~", "K\u{E4}se": "K_se~", "Stra\u{DF}e": "Stra_e~",
        "\u{41F}\u{43E}\u{43A}\u{443}\u{43F}\u{43A}\u{430}": "_______~",
        "\u{41F}\u{43E}\u{438}\u{441}\u{43A}": "_____~",
        "\u{634}\u{631}\u{627}\u{621}": "____~", "\u{916}\u{930}\u{940}\u{926}": "____~", "#x": "_x~",
        "name._x": "name__x~", "name.#x": "name__x~", "a\\b": "a_b~", "a\nb": "a_b~", "name.id": "name_id~",
        "properties.time": "properties_time~", "properties.properties.time": "properties_properties_time~",
        "event.id": "event_id~", "properties.event.id": "properties_event_id~", "\u{1F600}": "_~", "\u{1F601}": "_~",
        "a b,c=d": "a_b_c_d~", "ga.session": "ga_session~", "firebase/x": "firebase_x~", "gtag x": "gtag_x~",
        "own_ga.session": "own_ga_session~", "Page_View_7y7b7g": "Page_View_7y7b7g~", "plan_4k7q2m": "plan_4k7q2m~",
    ]

    private static let influx: [String: String] = [
        "_x": "name._x", "#x": "name.#x", "name._x": "name.name._x", "name.#x": "name.name.#x", "a\\b": "a_b~",
        "a\nb": "a_b~", "Page_View_7y7b7g": "Page_View_7y7b7g~", "plan_4k7q2m": "plan_4k7q2m~",
    ]

    private static let otlp: [String: String] = [
        "event.id": "properties.event.id", "properties.event.id": "properties.properties.event.id",
        "distinct_id": "properties.distinct_id",
    ]

    private static let mixpanel: [String: String] = [
        "time": "properties.time", "properties.time": "properties.properties.time",
        "properties.properties.time": "properties.properties.properties.time", "distinct_id": "properties.distinct_id",
    ]

    /// A format, the names that arrive otherwise, and a reader of a request for one event.
    struct Column: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var events: [String: String] = [:]
        var properties: [String: String] = [:]
        /// The names of the event and of its property with the value 4711.
        let read: @Sendable (HTTPRequest) throws -> (event: String?, property: String?)

        init(
            _ name: String, events: [String: String] = [:], properties: [String: String] = [:],
            read: @escaping @Sendable (HTTPRequest) throws -> (event: String?, property: String?)
        ) {
            testDescription = name
            self.events = events
            self.properties = properties
            self.read = read
        }

        /// A format of JSON, with a member for the event's name.
        init(_ name: String, _ event: String, properties: [String: String] = [:]) {
            self.init(name, properties: properties) { request in
                let body = try request.json
                return (body.values(of: event).first?.string, body.names(of: 4711).first)
            }
        }
    }

    static let columns: [Column] = [
        Column("segment", "event"), Column("postHog", "event"), Column("postHogBatch", "event"),
        Column("amplitude", "event_type"), Column("mixpanel", "event", properties: mixpanel),
        Column("mixpanelAccount", "event", properties: mixpanel), Column("datadog", "message"),
        Column("telemetryDeck", "type"), Column("jsonArray", "event"),
        Column("googleAnalytics", events: google.merging(googleEvents) { $1 }, properties: google) { request in
            let event = try request.json.values(of: "events").first?.array?.first
            return (event?.object?["name"]?.string, event?.names(of: 4711).first)
        },
        Column("snowplow", events: snowplow) { request in
            let text = try request.json.values(of: "ue_pr").first?.string ?? ""
            let data = try PropertyValue(json: Array(text.utf8)).object?["data"]
            let schema = data?.object?["schema"]?.string?.split(separator: "/", omittingEmptySubsequences: false)
            return (schema?[1].description, data?.names(of: 4711).first)
        },
        Column("otlp", properties: otlp) { request in
            let body = try request.json
            let attribute = body.values(of: "attributes").flatMap { Array($0.array ?? []) }
                .first { $0.object?["value"] == ["intValue": "4711"] }
            return (body.values(of: "eventName").first?.string, attribute?.object?["key"]?.string)
        },
        Column("influxDB", events: influx, properties: influx.merging(influxFields) { $1 }, read: readPoint),
        Column("influxDBV1", events: influx, properties: influx.merging(influxFields) { $1 }, read: readPoint),
    ]

    private static let influxFields = [
        "id": "name.id", "name.id": "name.name.id", "time": "name.time", "distinct_id": "name.distinct_id",
    ]

    @Sendable private static func readPoint(_ request: HTTPRequest) -> (event: String?, property: String?) {
        // The escaped characters as others, which no name has.
        var text = String(decoding: request.body, as: UTF8.self)
        for (character, mark) in [(",", "\u{1}"), (" ", "\u{2}"), ("=", "\u{3}")] {
            text = text.replacingOccurrences(of: "\\" + character, with: mark)
        }
        func plain(_ text: some StringProtocol) -> String {
            String(text.map { $0 == "\u{1}" ? "," : $0 == "\u{2}" ? " " : $0 == "\u{3}" ? "=" : $0 })
        }
        let parts = text.split(separator: " ")
        let fields = parts.dropFirst().first?.split(separator: ",").map { $0.split(separator: "=") }
        return (
            parts.first?.split(separator: ",").first.map { plain($0) },
            fields?.first { $0.last == "4711" }?.first.map { plain($0) }
        )
    }

    private static func arrival(of name: String, _ column: Column) throws -> (event: String?, property: String?) {
        let event = Event(
            id: EventID(high: 0x019B_7705_8C00_7000, low: 0x8000_0000_0000_0000), name: name,
            time: Timestamp(milliseconds: 1_767_225_600_000), anonymousID: "a",
            properties: Properties([(name, PropertyValue.int(4711))]))
        let sample = try FormatSample.named(column.testDescription)
        return try column.read(sample.request(Batch(id: 1, events: [EventLine(event)])))
    }

    @Test("each name arrives as the table says, and two names never as one", arguments: columns)
    func namesArrive(column: Column) throws {
        var events: Set<String> = []
        var properties: Set<String> = []
        for name in Self.names {
            let (event, property) = try Self.arrival(of: name, column)
            for (found, expected) in [
                (event, column.events[name] ?? name), (property, column.properties[name] ?? name),
            ] {
                let found = try #require(found, "\(name)")
                guard expected.hasSuffix("~") else {
                    #expect(found == expected, "\(name)")
                    continue
                }
                let mark = found.dropFirst(expected.count - 1)
                #expect(found.hasPrefix(expected.dropLast() + "_") && mark.count == 7, "\(name): \(found)")
                #expect(mark.wholeMatch(of: /_([0-9][a-z]){3}/) != nil, "\(name): \(found)")
            }
            #expect(events.insert(event ?? "").inserted && properties.insert(property ?? "").inserted, "\(name)")
        }
    }

    @Test("the hash in a changed name is FNV-1a in three digits and letters, the same in each process")
    func marksAreStable() {
        let isLetter: (Unicode.Scalar) -> Bool = { $0.properties.isAlphabetic }
        #expect("Page View".fitted(where: isLetter) == "Page_View_7y7b7g")
        #expect("xxxxxxxxxx".fitted(to: 9, where: isLetter).hasPrefix("xx_"))
        #expect("plain".fitted(to: 5, where: isLetter) == "plain")
        // Each mark is recognized, so a name with one is no other name's.
        for number in 0..<1_000 {
            let name = "page \(number)".fitted(where: isLetter)
            #expect(name.fitted { _ in true } != name)
        }
    }

    @Test("a user property at Google Analytics has up to 24 characters, and two names never become one")
    func userPropertiesAreDistinct() throws {
        var traits = Properties(Self.names.prefix(22).map { ($0, PropertyValue.int(1)) })
        traits[Self.long(25)] = 1
        traits[Self.long(26)] = 1
        let event = Event.anonymous.with("$ProfileSet", ["$set": .object(traits)])
        let sample = try FormatSample.named("googleAnalytics")
        let body = try sample.request(Batch(id: 1, events: [EventLine(event)])).json
        let found = try #require(body.object?["user_properties"]?.object).map(\.name)
        #expect(found.count == 24 && found.allSatisfy { $0.utf16.count <= 24 })
        #expect(found.contains("\u{8D2D}\u{4E70}") && found.contains("sluice_plan"))
    }
}
