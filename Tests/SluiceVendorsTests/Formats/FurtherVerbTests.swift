import Sluice
import SluiceIdentity
import Testing

@testable import SluiceHTTP
@testable import SluiceVendors

/// The verbs at Matomo, Google Analytics, TelemetryDeck and Snowplow. Each record of the page's table is here as a whole.
@Suite("Verbs of further vendors")
struct FurtherVerbTests {
    private static let id = VerbTests.id

    private static func body(_ event: Event, _ format: HTTPFormat) throws -> PropertyValue {
        try VerbTests.request(event, format).json
    }

    private static func parsed(_ json: String) throws -> PropertyValue { try PropertyValue(json: Array(json.utf8)) }

    /// Expects the parameters of a request that depend on the verb.
    private static func expectMatomo(_ event: Event, _ rest: String) throws {
        let format = HTTPFormat.matomo(site: "1", token: "t", dimensions: ["plan": 3])
        let query = try body(event, format).object?["requests"]?.array?.first?.string
        let start = "?idsite=1&rec=1&apiv=1&rand=\(id)&cdt=1767225600&_id=e61a64190463c246"
        #expect(query == start + rest)
    }

    private static func expectGoogle(_ event: Event, _ person: String, _ name: String, _ parameters: String) throws {
        let found = try body(event, .googleAnalytics(measurementID: "G-1", apiSecret: "s"))
        let expected = #"""
            {"client_id":"a-1",\#(person)"events":[{"name":"\#(name)","timestamp_micros":1767225600123000,"params":\#
            {"event_id":"\#(id)","engagement_time_msec":1\#(parameters)}}]}
            """#
        #expect(try found == parsed(expected))
    }

    private static func expectTelemetryDeck(
        _ event: Event, _ type: String, _ payload: String, value: PropertyValue? = nil
    ) throws {
        let found = try body(event, .telemetryDeck(appID: "A-1", salt: "x")).array?.first?.object
        #expect(found?["type"]?.string == type)
        #expect(found?["floatValue"] == value)
        #expect(try found?["payload"] == parsed(#"{"Sluice.eventID":"\#(id)"\#(payload)}"#))
    }

    private static func expectSnowplow(_ event: Event, _ schema: String, _ data: String) throws {
        let body = try body(event, .snowplow(appID: "shop", vendor: "com.example"))
        let text = try #require(body.object?["data"]?.array?.first?.object?["ue_pr"]?.string)
        let expected = #"""
            {"schema":"iglu:com.snowplowanalytics.snowplow/unstruct_event/jsonschema/1-0-0","data":\#
            {"schema":"iglu:\#(schema)/jsonschema/1-0-0","data":\#(data)}}
            """#
        #expect(try parsed(text) == parsed(expected))
    }

    @Test("a login")
    func login() async throws {
        let event = try await VerbTests.event { identity, _ in try identity.login("u-1", ["plan": "free"]) }
        let user = #""user_id":"u-1","user_properties":{"plan":{"value":"free"}},"#
        try Self.expectGoogle(event, user, "login", #","sluice_original_id":"a-1""#)
        try Self.expectMatomo(event, "&uid=u-1&e_c=app&e_a=%24SignUp")
        let properties = #""$original_id":"a-1","$set":{"plan":"free"}"#
        try Self.expectTelemetryDeck(
            event, "$SignUp", #","$original_id":"a-1","$set":"{\"plan\":\"free\"}""#)
        try Self.expectSnowplow(event, "com.example/sluice_SignUp", "{\(properties)}")
    }

    @Test("properties of a profile")
    func profileSet() async throws {
        let event = try await VerbTests.event { identity, _ in
            identity.profile.set(["1 name too long for a user property": "Ada", "list": [1]])
        }
        try Self.expectGoogle(
            event, #""user_properties":{"own_1_name_too_lo_0z2q0y":{"value":"Ada"}},"#, "sluice_ProfileSet", "")
        try Self.expectMatomo(event, "&e_c=app&e_a=%24ProfileSet")
    }

    @Test("a group")
    func group() async throws {
        let event = try await VerbTests.event { identity, _ in
            try identity.join(group: "acme", ofType: "company", ["plan": "pro"])
        }
        try Self.expectGoogle(
            event, "", "join_group", #","group_id":"acme","sluice_group_type":"company""#)
        try Self.expectMatomo(event, "&e_c=app&e_a=%24GroupIdentify")
    }

    @Test("a screen")
    func screen() async throws {
        let event = try await VerbTests.event { _, pipeline in
            pipeline.track("$AppViewScreen", ["$screen_name": "Home/Start", "plan": "free"])
        }
        try Self.expectGoogle(
            event, "", "screen_view", #","screen_name":"Home/Start","plan":"free""#)
        try Self.expectMatomo(
            event, "&action_name=Home%2FStart&url=http%3A%2F%2Fapp%2FHome%252FStart&dimension3=free")
        try Self.expectTelemetryDeck(
            event, "TelemetryDeck.Navigation.pathChanged",
            #","TelemetryDeck.Navigation.schemaVersion":"1","TelemetryDeck.Navigation.destinationPath":"Home/Start","#
                + #""$screen_name":"Home/Start","plan":"free""#)
        try Self.expectSnowplow(
            event, "com.snowplowanalytics.mobile/screen_view", #"{"id":"\#(Self.id)","name":"Home/Start"}"#)
    }

    @Test("revenue and a refund")
    func revenue() async throws {
        let event = try await VerbTests.event { _, pipeline in
            pipeline.track(Revenue(25, currency: "EUR", productID: "A-7", quantity: 2, ["coupon": "X"]))
        }
        let order = #","transaction_id":"\#(Self.id)","value":25.0,"currency":"EUR","#
        let items = #""items":[{"item_id":"A-7","price":12.5,"quantity":2}],"coupon":"X""#
        try Self.expectGoogle(event, "", "purchase", order + items)
        let item = "%5B%5B%22A-7%22%2C%22%22%2C%22%22%2C12.5%2C2%5D%5D"
        try Self.expectMatomo(event, "&idgoal=0&ec_id=\(Self.id)&revenue=25.0&ec_items=\(item)")
        try Self.expectTelemetryDeck(
            event, "TelemetryDeck.Purchase.completed",
            #","TelemetryDeck.Purchase.currencyCode":"EUR","TelemetryDeck.Purchase.productID":"A-7","coupon":"X","#
                + #""$amount":25.0"#)
        let dollars = try await VerbTests.event { _, pipeline in pipeline.track(Revenue(-3, currency: "USD")) }
        try Self.expectGoogle(
            dollars, "", "refund", #","transaction_id":"\#(Self.id)","value":3.0,"currency":"USD""#)
        try Self.expectTelemetryDeck(
            dollars, "TelemetryDeck.Purchase.completed",
            #","TelemetryDeck.Purchase.currencyCode":"USD""#, value: -3.0)
        let valued = try await VerbTests.event { _, pipeline in pipeline.track(Revenue(5, ["floatValue": 7])) }
        try Self.expectTelemetryDeck(valued, "TelemetryDeck.Purchase.completed", #","$amount":5.0"#, value: 7)
        let missing = try await VerbTests.event { _, pipeline in pipeline.track(Revenue(5, ["floatValue": .null])) }
        try Self.expectTelemetryDeck(missing, "TelemetryDeck.Purchase.completed", "", value: 5.0)
    }

    @Test("verbs without a type of their own are events with all properties")
    func otherVerbs() async throws {
        let event = try await VerbTests.event { identity, _ in try identity.alias("old-7") }
        try Self.expectGoogle(event, "", "sluice_Alias", #","sluice_alias":"old-7""#)
        try Self.expectMatomo(event, "&e_c=app&e_a=%24Alias")
        try Self.expectTelemetryDeck(event, "$Alias", #","$alias":"old-7""#)
        try Self.expectSnowplow(event, "com.example/sluice_Alias", #"{"$alias":"old-7"}"#)
    }

    @Test(
        "Google gets a request for each person, with at most 25 parameters in an event",
        arguments: [("a", "b"), ("caf\u{E9}", "cafe\u{301}")])
    func googleHasRequestPerPerson(one: String, other: String) throws {
        let format = HTTPFormat.googleAnalytics(measurementID: "G-1", apiSecret: "s")
        var events = [one, other, one].map { Event(id: .make(at: .now), name: "E", time: .now, anonymousID: $0) }
        events[1].properties = Properties((0..<30).map { ("p\($0)", .int(Int64($0))) })
        let batch = try Batch(id: 1, events: events.map { try EventLine($0) })
        #expect(format.requests(of: batch).map(\.events) == [[0, 2], [1]])
        let record = try Self.body(events[1], format).object?["events"]?.array?.first?.object
        #expect(record?["params"]?.object?.count == 25)
    }
}
