import HTTPTestSupport
import Sluice
import SluiceIdentity
import Testing

@testable import SluiceHTTP
@testable import SluiceVendors

/// Persons, places and automatic properties at each vendor.
@Suite("Persons and automatic properties of the vendors")
struct VendorPersonTests {
    private func properties(_ format: HTTPFormat, _ event: Event = .bare) throws -> Properties? {
        let record = try VerbTests.record(event, format)
        return record["properties"]?.object ?? record
    }

    @Test("a distinct id without an anonymous one is a user's, as a server sets it")
    func serverEventHasUserID() throws {
        var event = Event.bare
        event.distinctID = "u-9"
        for (vendor, user, device) in [("segment", "userId", "anonymousId"), ("amplitude", "user_id", "device_id")] {
            let record = try VerbTests.record(event, at: vendor)
            #expect(record[user] == "u-9" && record[device] == nil)
        }
        let mixpanel = try VerbTests.record(event, at: "mixpanel")
        #expect(mixpanel["properties"]?.object?["$user_id"] == "u-9")
        let postHog = try VerbTests.record(event, at: "postHog")
        #expect(postHog["properties"]?.object?["$is_identified"] == true)
        #expect(postHog["options"] == ["process_person_profile": true])
        // An anonymous id with other bytes is another one.
        (event.distinctID, event.anonymousID) = ("caf\u{E9}", "cafe\u{301}")
        #expect(event.userID?.utf8.count == 5)
    }

    @Test("an event before a login creates no person at PostHog, and one without a person has no id at Mixpanel")
    func anonymousEventCreatesNoPerson() throws {
        for event in [Event.anonymous, .bare] {
            #expect(try VerbTests.record(event, at: "postHog")["options"] == ["process_person_profile": false])
        }
        #expect(try properties(.mixpanel(token: "k", locatesUsers: true))?["distinct_id"] == "")
    }

    @Test("neither the location nor the system of a server is the user's")
    func serverHasNoLocation() async throws {
        #expect(try properties(.mixpanel(token: "k", locatesUsers: false))?["ip"] == 0)
        #expect(try properties(.mixpanel(token: "k", locatesUsers: true))?["ip"] == nil)
        for name in ["$geoip_disable", "$is_server"] {
            for format in [HTTPFormat.postHog, HTTPFormat.postHogBatch] {
                #expect(try properties(format("k", false, false))?[name] == true)
                #expect(try properties(format("k", false, true))?[name] == nil)
            }
        }
        #expect(try properties(.amplitude(apiKey: "k", locatesUsers: false))?["ip"] == nil)
        #expect(try properties(.amplitude(apiKey: "k", locatesUsers: true))?["ip"] == "$remote")
        let profile = try await VerbTests.event { identity, _ in identity.profile.delete() }
        for locates in [true, false] {
            let request = try VerbTests.request(profile, .mixpanel(token: "k", locatesUsers: locates))
            #expect(request.url == "https://h/engage?strict=1&verbose=1&ip=\(locates ? 1 : 0)")
            #expect(request.header("Authorization") == nil)
        }
        let event = Event.bare.with(["ip": "1.2.3.4"])
        #expect(try properties(.mixpanel(token: "k", locatesUsers: false), event)?["ip"] == "1.2.3.4")
        #if os(Linux)
            #expect(try properties(.mixpanel(token: "k"))?["ip"] == 0)
            #expect(try properties(.postHog(apiKey: "k"))?["$geoip_disable"] == true)
            #expect(try properties(.amplitude(apiKey: "k"))?["ip"] == nil)
        #endif
    }

    @Test("Mixpanel's profiles need the project's token")
    func profilesNeedToken() async throws {
        let account = HTTPFormat.mixpanel(project: "7", user: "u", secret: "s", locatesUsers: true)
        let login = try await VerbTests.event { identity, _ in try identity.login("u-1", ["plan": "free"]) }
        let records = try VerbTests.records(login, account).array
        #expect(records?.count == 1 && records?.first?.object?["event"] == "$identify")
        let identified = records?.first?.object?["properties"]?.object
        #expect(identified?["$anon_distinct_id"] == "$device:a-1" && identified?["$identified_id"] == "u-1")
        #expect(identified?["plan"] == "free")
        let event = try await VerbTests.loggedIn { identity, _ in identity.profile.set(["name": "Ada"]) }
        #expect(try VerbTests.request(event, account).url == "https://h/import?strict=1&project_id=7")
        #expect(try VerbTests.record(event, account)["event"] == "$ProfileSet")
        #expect(try properties(account, event)?["$set"] == ["name": "Ada"])
        let whole = HTTPFormat.mixpanel(project: "7", user: "u", secret: "s", token: "k", locatesUsers: true)
        #expect(try VerbTests.request(event, whole).url == "https://h/engage?strict=1&verbose=1&ip=1")
    }

    @Test("PostHog can be told that events are old ones")
    func historicalMigration() throws {
        for (format, expected) in [
            (.postHog(apiKey: "k", isHistoricalMigration: true), true),
            (.postHog(apiKey: "k", isHistoricalMigration: false), nil),
            (.postHogBatch(apiKey: "k", isHistoricalMigration: true), true),
        ] as [(HTTPFormat, PropertyValue?)] {
            let body = try JSONReader.value(of: VerbTests.request(.bare, format).body)
            #expect(body.object?["historical_migration"] == expected)
        }
    }

    @Test("PostHog's older API has the same records, with the library and the controls among the properties")
    func olderPostHogRecords() async throws {
        let event = try await VerbTests.event { identity, _ in try identity.login("u-1", ["plan": "free"]) }
        let expected: Properties = [
            "event": "$identify", "distinct_id": "u-1", "uuid": .string(VerbTests.id),
            "properties": [
                "distinct_id": "u-1", "$anon_distinct_id": "a-1", "$set": ["plan": "free"], "$lib": "Sluice",
                "$lib_version": .string(LibraryVersion.current), "$device_id": "a-1", "$is_identified": true,
                "$process_person_profile": true,
            ], "timestamp": "2026-01-01T00:00:00.123Z",
        ]
        #expect(try VerbTests.records(event, .postHogBatch(apiKey: "k", locatesUsers: true)) == [.object(expected)])
    }

    @Test("super properties are no traits of a person: only the properties of the login are")
    func superPropertiesAreNoTraits() async throws {
        var event = try await VerbTests.event { identity, _ in try identity.login("u-1", ["plan": "free"]) }
        event.properties["theme"] = "dark"
        for vendor in ["postHog", "segment", "amplitude"] {
            let record = try VerbTests.record(event, at: vendor)
            let traits =
                record["traits"] ?? record["user_properties"]?.object?["$set"]
                ?? record["properties"]?.object?["$set"]
            #expect(traits == ["plan": "free"], "\(vendor)")
        }
    }

    @Test("revenue without a person is no part of a profile, and a host's own names take precedence")
    func revenueOfNobody() throws {
        let event = Event.bare.with("$Revenue", ["$amount": 3, "$quantity": 0, "order_id": "own", "revenue": 4])
        let records = try VerbTests.records(event, .mixpanel(token: "k", locatesUsers: true)).array
        #expect(records?.count == 1)
        let properties = records?.first?.object?["properties"]?.object
        #expect(properties?["order_id"] == "own" && properties?["revenue"] == 4)
        #expect(properties?["products"] == [["quantity": 0]])
    }

    @Test(
        "a change of no one's profile changes none, and arrives as an event",
        arguments: [
            ("$ProfileSet", ["$set": ["tier": "gold"]]), ("$ProfileSetOnce", ["$set_once": ["first": 1]]),
            ("$ProfileIncrement", ["$increment": ["visits": 2]]), ("$ProfileAppend", ["$append": ["tags": ["x"]]]),
            ("$ProfileUnset", ["$unset": ["tier"]]), ("$ProfileDelete", [:]),
        ] as [(String, Properties)])
    func profileOfNobodyIsEvent(name: String, properties: Properties) throws {
        let event = Event.bare.with(name, properties)
        #expect(Verb(event) == .track && Verb(Event.anonymous.with(name, properties)) != .track)
        for vendor in ["segment", "postHog", "amplitude", "mixpanel"] {
            let record = try VerbTests.record(event, at: vendor)
            #expect((record["event_type"] ?? record["event"]) == .string(name), "\(vendor)")
            #expect(record["user_properties"] == nil && record["type"] != .string("identify"), "\(vendor)")
        }
        let sensors = try SensorsFormat.record(of: event)
        #expect(sensors["type"] == "track" && sensors["event"] == .string(name))
        let options = try VerbTests.record(event, at: "postHog")["options"]
        #expect(options == ["process_person_profile": false])
        let format = HTTPFormat.mixpanel(token: "k", locatesUsers: true)
        #expect(try VerbTests.request(event, format).url == "https://h/import?strict=1")
    }

    // MARK: Automatic properties

    private static let automatic: Properties = [
        "$lib": "Shop", "$lib_version": "7.0", "$app_name": "Shop", "$app_version": "2.4.1", "$app_build": "7",
        "$app_id": "example.shop", "$manufacturer": "Apple", "$model": "iPhone15,2", "$os": "iOS",
        "$os_version": "17.1", "$locale": "de_DE",
        "$country": "DE", "$timezone": "Europe/Berlin", "$screen_width": 390, "$screen_height": 844, "$wifi": true,
        "$network_type": "wifi", "$carrier": "Net", "$session_id": "019b7705-8c00-7abc-8000-0000ffff0001",
    ]

    private static func event(_ own: Properties = [:]) -> Event {
        var event = Event.anonymous.with(own + ["sku": "A-7"])
        event.properties.addDefaults(automatic)
        return event
    }

    @Test("RudderStack gets the times by which it corrects each event, and no corrected time")
    func rudderStackTimes() throws {
        var request = HTTPRequest(url: "https://h", sendTime: Timestamp(milliseconds: 1_767_225_660_000))
        try HTTPFormat.rudderStack(writeKey: "k").wire.encode(.allKinds(), into: &request)
        let body = try #require(try JSONReader.value(of: request.body).object)
        let calls = try #require(body["batch"]?.array).map { $0.object ?? [:] }
        #expect(
            calls.map { $0["originalTimestamp"] } == [
                "2026-01-01T00:00:00.123Z", "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:01.000Z",
            ])
        #expect(calls.allSatisfy { $0["sentAt"] == "2026-01-01T00:01:00.000Z" && $0["timestamp"] == nil })
        #expect(calls.map { $0["type"] } == ["track", "track", "track"])
    }

    @Test("Segment's context has the automatic properties")
    func segmentContext() throws {
        let record = try VerbTests.record(Self.event(), at: "segment")
        #expect(
            record["context"] == [
                "library": ["name": "Shop", "version": "7.0"],
                "app": ["name": "Shop", "version": "2.4.1", "build": "7", "namespace": "example.shop"],
                "device": ["id": "a2", "manufacturer": "Apple", "model": "iPhone15,2", "type": "ios"],
                "os": ["name": "iOS", "version": "17.1"],
                "screen": ["width": 390, "height": 844], "locale": "de_DE", "timezone": "Europe/Berlin",
                "network": ["wifi": true, "cellular": false, "carrier": "Net"],
                "instanceId": .string(FormatSample.instance.description),
            ])
        #expect(
            record["properties"] == [
                "sku": "A-7", "$country": "DE", "$network_type": "wifi",
                "$session_id": "019b7705-8c00-7abc-8000-0000ffff0001",
            ])
    }

    @Test("Amplitude has the automatic properties beside the event's own")
    func amplitudeTopLevel() throws {
        let record = try VerbTests.record(Self.event(), .amplitude(apiKey: "k", locatesUsers: false))
        let expected: Properties = [
            "platform": "iOS", "os_name": "iOS", "os_version": "17.1", "app_version": "2.4.1",
            "device_manufacturer": "Apple", "device_model": "iPhone15,2", "carrier": "Net", "language": "de-DE",
            "country": "DE", "session_id": 1_767_228_410_880,
        ]
        for property in expected { #expect(record[property.name] == property.value, "\(property.name)") }
        #expect(record["event_properties"]?.object?["$os"] == nil)
        #expect(record["event_properties"]?.object?["sku"] == "A-7")
    }

    @Test("Mixpanel and PostHog get the version, the build, the library and the bundle's id under their own names")
    func versionHasVendorsNames() throws {
        let mixpanel = try properties(.mixpanel(token: "k"), Self.event())
        #expect(mixpanel?["$app_version_string"] == "2.4.1" && mixpanel?["$app_build_number"] == "7")
        #expect(mixpanel?["$app_version"] == nil && mixpanel?["$app_build"] == nil)
        #expect(mixpanel?["mp_lib"] == "Shop" && mixpanel?["$lib"] == nil && mixpanel?["$lib_version"] == "7.0")
        let own = try properties(.mixpanel(token: "k"), Self.event(["$app_build_number": 8]))
        #expect(own?["$app_build_number"] == 8 && own?["$app_build"] == "7")
        let postHog = try properties(.postHog(apiKey: "k"), Self.event())
        #expect(postHog?["$app_namespace"] == "example.shop" && postHog?["$app_id"] == nil)
        #expect(postHog?["$app_build"] == "7")
        let ownNamespace = try properties(.postHog(apiKey: "k"), Self.event(["$app_namespace": "mine"]))
        #expect(ownNamespace?["$app_namespace"] == "mine" && ownNamespace?["$app_id"] == "example.shop")
    }

    /// A format, an event's name and properties, and members of the body. A null stands for none with the name.
    private static let oddValues: [(format: String, name: String, properties: Properties, member: Properties)] = [
        (
            "postHog", "Event",
            ["$set": ["name": "Ada"], "$set_once": ["first": "web"], "$future_backend_flag": "x"],
            ["$set": ["name": "Ada"], "$set_once": ["first": "web"], "$future_backend_flag": "x"]
        ),
        ("postHog", "Event", ["$session_id": 42], ["properties.$session_id": 42, "session_id": nil]),
        ("postHog", "Event", ["$window_id": ["w"]], ["properties.$window_id": ["w"]]),
        (
            "postHog", "Event", ["$process_person_profile": "maybe"],
            ["properties.$process_person_profile": "maybe", "process_person_profile": nil]
        ),
        ("postHog", "Event", ["$ignore_sent_at": [true]], ["properties.$ignore_sent_at": [true]]),
        ("postHog", "Event", ["$product_tour_id": 42], ["properties.$product_tour_id": 42]),
        ("postHog", "Event", ["$cookieless_mode": "maybe"], ["properties.$cookieless_mode": "maybe"]),
        (
            "postHog", "Event", ["$session_id": 42, "properties.$session_id": "KEEP"],
            ["properties.$session_id": 42, "properties.properties.$session_id": "KEEP"]
        ),
        (
            "postHog", "$AppStart", ["properties.$window_id": [1], "$window_id": false, "properties.n": 2.5],
            ["properties.$window_id": false, "properties.properties.$window_id": [1], "properties.n": 2.5]
        ),
        // The same name in an event without the other one.
        (
            "postHog", "Event", ["properties.$cookieless_mode": "maybe"],
            ["properties.properties.$cookieless_mode": "maybe"]
        ),
        (
            "postHog", "$Alias", ["$alias": "b-2", "alias": "own", "properties.alias": 6],
            ["alias": "b-2", "properties.alias": "own", "properties.properties.alias": 6]
        ),
        (
            "postHogBatch", "$SignUp", ["$original_id": "a2", "$anon_distinct_id": ["x"]],
            ["$anon_distinct_id": "a2", "properties.$anon_distinct_id": ["x"]]
        ),
        ("postHogBatch", "$Alias", ["$alias": "b-2", "distinct_id": 7], ["properties.distinct_id": 7]),
        ("postHog", "$ProfileSet", ["$set": [:], "$set_once": ["a": 1]], ["$set_once": ["a": 1]]),
        ("segment", "Event", ["$wifi": true], ["network": ["wifi": true]]),
        ("segment", "Event", ["$wifi": 1, "$network_type": "cellular"], ["network": ["wifi": 1, "cellular": true]]),
        (
            "segment", "Event", ["$network_type": "ethernet"],
            ["network": ["wifi": false, "cellular": false], "$network_type": "ethernet"]
        ),
        ("segment", "Event", ["$network_type": "vpn"], ["network": nil, "$network_type": "vpn"]),
        (
            "segment", "$Revenue", ["$amount": 3, "$network_type": "5g", "$carrier": "Net"],
            ["network": ["carrier": "Net"], "$network_type": "5g"]
        ),
        ("segment", "Event", ["$network_type": ["wifi"]], ["network": nil, "$network_type": ["wifi"]]),
        ("segment", "$AppViewScreen", ["$screen_name": "S", "$network_type": 5], ["$network_type": 5]),
        ("segment", "Event", ["$lib": 7], ["name": 7]),
        ("segment", "$Revenue", ["$amount": 3, "$currency": 42], ["$currency": 42]),
        ("amplitude", "$Revenue", ["$amount": 3, "$product_id": 7], ["$product_id": 7]),
        ("amplitude", "Event", ["$groups": "x"], ["properties.$groups": "x"]),
        (
            "amplitude", "Event", ["$groups": "111", "properties.$groups": "222"],
            ["properties.$groups": "111", "properties.properties.$groups": "222"]
        ),
        (
            "amplitude", "$AppViewScreen", ["$screen_name": "S", "[Amplitude] Screen Name": "T"],
            ["$screen_name": "S", "[Amplitude] Screen Name": "T"]
        ),
        (
            "googleAnalytics", "$AppViewScreen", ["$screen_name": "S", "screen_name": "T"],
            ["sluice_screen_name": "S", "screen_name": "T"]
        ),
        (
            "googleAnalytics", "$GroupIdentify", ["$group_type": "t", "$group_key": "g", "group_id": "h"],
            ["sluice_group_key": "g", "group_id": "h"]
        ),
        ("mixpanel", "Event", ["$groups": ["y"]], ["$groups": ["y"]]),
        ("mixpanel", "$SignUp", ["$original_id": "a2", "$set": "z"], ["$set": "z"]),
        ("telemetryDeck", "$Revenue", ["$amount": 3, "$quantity": 2.5], ["$quantity": 2.5]),
        ("telemetryDeck", "Event", ["$session_id": false], ["$session_id": false]),
    ]

    @Test("a value that has no place in the field of its name stays a property", arguments: oddValues)
    func oddValuesStay(row: (format: String, name: String, properties: Properties, member: Properties)) throws {
        let event = Event.anonymous.with(row.name, row.properties)
        let request = try FormatSample.named(row.format).request(Batch(id: 1, events: [EventLine(event)]))
        let body = try request.json
        for member in row.member {
            #expect(body.values(of: member.name) == (member.value == .null ? [] : [member.value]), "\(request.text)")
        }
    }

    @Test("a login at Sensors Analytics keeps what isn't part of it")
    func oddLoginStays() {
        let properties: Properties = ["$original_id": "a2", "$set": "z", "$switches_user": 42]
        let record = SensorsRecord(.anonymous.with("$SignUp", properties))
        #expect(record.type == "track_signup" && record.properties == ["$set": "z", "$switches_user": 42])
    }

    @Test("PostHog's and Sensors' library is the event's")
    func libraryIsEvents() throws {
        #expect(try properties(.postHogBatch(apiKey: "k"), Self.event())?["$lib_version"] == "7.0")
        #expect(
            try SensorsFormat.record(of: Self.event())["lib"] == [
                "$lib": "Shop", "$lib_version": "7.0", "$lib_method": "code", "$app_version": "2.4.1",
            ])
    }
}
