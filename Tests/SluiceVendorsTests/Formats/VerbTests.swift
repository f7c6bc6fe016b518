import Foundation
import HTTPTestSupport
import Sluice
import SluiceIdentity
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceHTTP
@testable import SluiceVendors

/// The records of the verbs at vendors that have record types of their own for them. `SensorsRecordTests` has those of
/// Sensors Analytics.
@Suite("Verbs on every wire")
struct VerbTests {
    private static let id = "019b7705-8c00-7000-8000-0000ffff0001"
    private static let version = LibraryVersion.current

    /// The last event that `use` tracks, with a fixed id and time.
    static func event(_ use: (Identity, Pipeline) throws -> Void) async throws -> Event {
        let identity = Identity(persistedIn: .memory)
        try identity.setAnonymousID("a-1")
        let transport = ScriptedTransport()
        let pipeline = try Pipeline {
            identity
            MemoryStore()
            transport
        }
        try use(identity, pipeline)
        await pipeline.flush()
        let event = try #require(try transport.accepted().last)
        return Event(
            id: try #require(EventID(id)), name: event.name, time: Timestamp(milliseconds: 1_767_225_600_123),
            distinctID: event.distinctID, anonymousID: event.anonymousID, loginID: event.loginID,
            properties: event.properties)
    }

    /// The last event that `use` tracks after a login.
    private static func loggedIn(_ use: (Identity, Pipeline) throws -> Void) async throws -> Event {
        try await event { identity, pipeline in
            try identity.login("u-1")
            try use(identity, pipeline)
        }
    }

    private static let formats: [String: HTTPFormat] = [
        "postHog": .postHog(apiKey: "k", locatesUsers: true),
        "segment": HTTPFormat(SegmentFormat(writeKey: "k", instanceID: FormatSample.instance)),
        "amplitude": .amplitude(apiKey: "k", locatesUsers: true),
        "mixpanel": .mixpanel(token: "k", locatesUsers: true),
    ]

    /// The requests for the event, one for each endpoint.
    static func requests(_ event: Event, _ format: HTTPFormat) throws -> [HTTPRequest] {
        let line = try EventLine(event)
        return try format.endpoints(for: line).map { endpoint in
            var request = HTTPRequest(url: "https://h", endpoint: endpoint)
            try format.encode(Batch(id: 1, events: [line]), into: &request)
            return request
        }
    }

    static func request(_ event: Event, _ format: HTTPFormat) throws -> HTTPRequest {
        try #require(requests(event, format).first)
    }

    /// The records of the event in the requests of a format.
    static func records(_ event: Event, _ format: HTTPFormat) throws -> PropertyValue {
        let records = try requests(event, format).flatMap { request in
            let body = try PropertyValue(json: request.body)
            let records = body.object?["batch"] ?? body.object?["events"] ?? body
            return records.array.map { Array($0) } ?? []
        }
        return .array(PropertyArray(records))
    }

    private static func expect(
        _ event: Event, at vendor: String, _ expected: String..., location: SourceLocation = #_sourceLocation
    ) throws {
        let records = try records(event, #require(formats[vendor]))
        let json = try JSONReader.value(of: Array("[\(expected.joined(separator: ","))]".utf8))
        #expect(records == json, "\(vendor)", sourceLocation: location)
    }

    // MARK: The parts that all records of a vendor have

    private static func postHog(
        _ name: String, _ properties: String, user: String? = "u-1", concernsPerson: Bool = true
    ) -> String {
        let own = properties.isEmpty ? "" : properties + ","
        return #"""
            {"event":"\#(name)","uuid":"\#(id)","distinct_id":"\#(user ?? "a-1")",\#
            "timestamp":"2026-01-01T00:00:00.123Z","options":{"process_person_profile":\#(concernsPerson)},\#
            "properties":{\#(own)"$device_id":"a-1","$is_identified":\#(user != nil)}}
            """#
    }

    private static func segment(
        _ type: String, _ members: String, user: String? = "u-1", context: String = ""
    ) -> String {
        #"""
        {"type":"\#(type)","messageId":"\#(id)","anonymousId":"a-1",\#(user.map { #""userId":"\#($0)","# } ?? "")\#
        \#(members.isEmpty ? "" : members + ",")"context":{"library":{"name":"Sluice","version":"\#(version)"},"device":{"id":"a-1"},\#
        "instanceId":"\#(FormatSample.instance)"\#(context)},\#
        "timestamp":"2026-01-01T00:00:00.123Z"}
        """#
    }

    private static func amplitude(
        _ type: String, _ members: String, user: String? = "u-1", suffix: String = ""
    ) -> String {
        #"""
        {"event_type":"\#(type)",\#(user.map { #""user_id":"\#($0)","# } ?? "")"device_id":"a-1",\#
        "time":1767225600123,"insert_id":"\#(id)\#(suffix)","ip":"$remote","library":"Sluice/\#(version)",\#(members)}
        """#
    }

    private static func mixpanel(_ name: String, _ properties: String) -> String {
        #"""
        {"event":"\#(name)","properties":{"time":1767225600123,"distinct_id":"u-1","$insert_id":"\#(id)",\#
        "$device_id":"a-1","$user_id":"u-1"\#(properties)}}
        """#
    }

    private static func engage(_ operation: String, user: String? = "u-1") -> String {
        #"""
        {"$token":"k","$distinct_id":"\#(user ?? "$device:a-1")","$device_id":"a-1",\#
        \#(user.map { #""$user_id":"\#($0)","# } ?? "")"$time":1767225600123,\#(operation)}
        """#
    }

    // MARK: Verbs

    @Test("a login in place of another user has the record of each vendor, without a join of the two")
    func switchingLogin() async throws {
        let event = try await Self.event { identity, _ in
            try identity.login("u-0")
            try identity.login("u-1")
        }
        let properties = #""$original_id":"a-1","$switches_user":true"#
        try Self.expect(event, at: "postHog", Self.postHog("$SignUp", properties))
        try Self.expect(event, at: "segment", Self.segment("identify", ""))
        try Self.expect(event, at: "amplitude", Self.amplitude("$SignUp", #""event_properties":{\#(properties)}"#))
        try Self.expect(event, at: "mixpanel", Self.mixpanel("$identify", #","$identified_id":"u-1""#))
    }

    @Test("a login in place of another user has its properties in the same record as a first login")
    func switchingLoginHasTraits() async throws {
        let event = try await Self.event { identity, _ in
            try identity.login("u-0")
            try identity.login("u-1", ["plan": "free"])
        }
        try Self.expect(event, at: "postHog", Self.postHog("$set", #""$set":{"plan":"free"}"#))
        try Self.expect(event, at: "segment", Self.segment("identify", #""traits":{"plan":"free"}"#))
        try Self.expect(
            event, at: "amplitude", Self.amplitude("$identify", #""user_properties":{"$set":{"plan":"free"}}"#))
        try Self.expect(
            event, at: "mixpanel", Self.mixpanel("$identify", #","$identified_id":"u-1""#),
            Self.engage(#""$set":{"plan":"free"}"#))
    }

    @Test("super properties are no traits of a person: only the properties of the login are")
    func superPropertiesAreNoTraits() async throws {
        var event = try await Self.event { identity, _ in try identity.login("u-1", ["plan": "free"]) }
        event.properties["theme"] = "dark"
        for vendor in ["postHog", "segment", "amplitude"] {
            let format = try #require(Self.formats[vendor])
            let record = try #require(try Self.records(event, format).array?.first?.object)
            let traits =
                record["traits"] ?? record["user_properties"]?.object?["$set"]
                ?? record["properties"]?.object?["$set"]
            #expect(traits == ["plan": "free"], "\(vendor)")
        }
    }

    @Test("a first login")
    func login() async throws {
        let event = try await Self.event { identity, _ in try identity.login("u-1", ["plan": "free"]) }
        try Self.expect(
            event, at: "postHog",
            Self.postHog("$identify", #""$anon_distinct_id":"a-1","$set":{"plan":"free"}"#))
        try Self.expect(event, at: "segment", Self.segment("identify", #""traits":{"plan":"free"}"#))
        try Self.expect(
            event, at: "amplitude", Self.amplitude("$identify", #""user_properties":{"$set":{"plan":"free"}}"#))
        try Self.expect(
            event, at: "mixpanel",
            Self.mixpanel("$identify", #","$anon_distinct_id":"$device:a-1","$identified_id":"u-1""#),
            Self.engage(#""$set":{"plan":"free"}"#))
    }

    @Test("an alias")
    func alias() async throws {
        let event = try await Self.loggedIn { identity, _ in try identity.alias("old-7") }
        try Self.expect(
            event, at: "postHog", Self.postHog("$create_alias", #""alias":"old-7""#))
        try Self.expect(event, at: "segment", Self.segment("alias", #""previousId":"old-7""#))
        // Amplitude has another API for aliases.
        try Self.expect(event, at: "amplitude", Self.amplitude("$Alias", #""event_properties":{"$alias":"old-7"}"#))
        try Self.expect(event, at: "mixpanel", Self.mixpanel("$create_alias", #","alias":"old-7""#))
    }

    @Test(
        "a login and an alias with the former id are Segment's alias of a new id: the same ids, and the user has the new one",
        arguments: [nil, "u-0", "a@b.example", "7"])
    func aliasOfNewID(former: String?) async throws {
        let event = try await Self.event { identity, _ in
            if let former { try identity.login(former) }
            // As in Migrating.md.
            if let formerID = identity.distinctID {
                try identity.login("u-1")
                try identity.alias(formerID)
            }
            #expect(identity.distinctID == "u-1")
        }
        let previous = former ?? "a-1"
        try Self.expect(event, at: "segment", Self.segment("alias", #""previousId":"\#(previous)""#))
    }

    @Test("an alias before a login has a user id where Segment requires one")
    func aliasBeforeLogin() async throws {
        let event = try await Self.event { identity, _ in try identity.alias("old-7") }
        try Self.expect(event, at: "segment", Self.segment("alias", #""previousId":"old-7""#, user: "a-1"))
        try Self.expect(
            event, at: "postHog",
            Self.postHog("$create_alias", #""alias":"old-7""#, user: nil))
    }

    @Test("a group with properties")
    func group() async throws {
        let event = try await Self.loggedIn { identity, _ in
            try identity.join(group: "acme", ofType: "company", ["plan": "pro"])
        }
        try Self.expect(
            event, at: "postHog",
            Self.postHog(
                "$groupidentify",
                #""$group_type":"company","$group_key":"acme","$group_set":{"plan":"pro"},"$groups":{"company":"acme"}"#
            ))
        try Self.expect(
            event, at: "segment",
            Self.segment(
                "group", #""groupId":"acme","traits":{"plan":"pro","groupType":"company"}"#))
        try Self.expect(
            event, at: "amplitude",
            Self.amplitude(
                "$groupidentify", #""groups":{"company":"acme"},"group_properties":{"$set":{"plan":"pro"}}"#),
            Self.amplitude(
                "$identify", #""groups":{"company":"acme"},"user_properties":{"$set":{"company":"acme"}}"#,
                suffix: "-join"))
        try Self.expect(
            event, at: "mixpanel",
            #"{"$token":"k","$group_key":"company","$group_id":"acme","$time":1767225600123,"$set":{"plan":"pro"}}"#)
    }

    @Test("an event of a user in a group")
    func eventInGroup() async throws {
        let event = try await Self.loggedIn { identity, pipeline in
            try identity.join(group: "acme", ofType: "company")
            pipeline.track("Bought", ["sku": "A-7"])
        }
        try Self.expect(
            event, at: "postHog", Self.postHog("Bought", #""sku":"A-7","$groups":{"company":"acme"}"#))
        try Self.expect(
            event, at: "segment",
            Self.segment(
                "track", #""event":"Bought","properties":{"sku":"A-7","$groups":{"company":"acme"}}"#,
                context: #","groupId":"acme""#))
        try Self.expect(
            event, at: "amplitude",
            Self.amplitude("Bought", #""groups":{"company":"acme"},"event_properties":{"sku":"A-7"}"#))
        try Self.expect(event, at: "mixpanel", Self.mixpanel("Bought", #","company":["acme"],"sku":"A-7""#))
    }

    @Test("properties of a profile, before a login too")
    func profileSet() async throws {
        let event = try await Self.event { identity, _ in identity.profile.set(["name": "Ada"]) }
        try Self.expect(event, at: "postHog", Self.postHog("$set", #""$set":{"name":"Ada"}"#, user: nil))
        try Self.expect(event, at: "segment", Self.segment("identify", #""traits":{"name":"Ada"}"#, user: nil))
        try Self.expect(
            event, at: "amplitude",
            Self.amplitude("$identify", #""user_properties":{"$set":{"name":"Ada"}}"#, user: nil))
        try Self.expect(event, at: "mixpanel", Self.engage(#""$set":{"name":"Ada"}"#, user: nil))
    }

    @Test("properties of a profile that are set once")
    func profileSetOnce() async throws {
        let event = try await Self.loggedIn { identity, _ in identity.profile.setOnce(["first": "web"]) }
        try Self.expect(event, at: "postHog", Self.postHog("$set", #""$set_once":{"first":"web"}"#))
        try Self.expect(
            event, at: "segment",
            Self.segment("track", #""event":"$ProfileSetOnce","properties":{"$set_once":{"first":"web"}}"#))
        try Self.expect(
            event, at: "amplitude", Self.amplitude("$identify", #""user_properties":{"$setOnce":{"first":"web"}}"#))
        try Self.expect(event, at: "mixpanel", Self.engage(#""$set_once":{"first":"web"}"#))
    }

    @Test("numbers of a profile that are incremented")
    func profileIncrement() async throws {
        let event = try await Self.loggedIn { identity, _ in try identity.profile.increment(["visits": 2]) }
        try Self.expect(event, at: "postHog", Self.postHog("$ProfileIncrement", #""$increment":{"visits":2}"#))
        try Self.expect(
            event, at: "segment",
            Self.segment("track", #""event":"$ProfileIncrement","properties":{"$increment":{"visits":2}}"#))
        try Self.expect(
            event, at: "amplitude", Self.amplitude("$identify", #""user_properties":{"$add":{"visits":2}}"#))
        try Self.expect(event, at: "mixpanel", Self.engage(#""$add":{"visits":2}"#))
    }

    @Test("values that are appended to lists of a profile")
    func profileAppend() async throws {
        let event = try await Self.loggedIn { identity, _ in
            identity.profile.append(["tags": ["new", "old"], "sizes": 7])
        }
        let lists = #"{"tags":["new","old"],"sizes":[7]}"#
        try Self.expect(event, at: "postHog", Self.postHog("$ProfileAppend", #""$append":\#(lists)"#))
        try Self.expect(
            event, at: "segment",
            Self.segment("track", #""event":"$ProfileAppend","properties":{"$append":\#(lists)}"#))
        try Self.expect(
            event, at: "amplitude", Self.amplitude("$identify", #""user_properties":{"$append":\#(lists)}"#))
        try Self.expect(
            event, at: "mixpanel", Self.engage(#""$append":{"tags":"new","sizes":7}"#),
            Self.engage(#""$append":{"tags":"old"}"#))
    }

    @Test("properties that are removed from a profile")
    func profileUnset() async throws {
        let event = try await Self.loggedIn { identity, _ in identity.profile.unset("age") }
        try Self.expect(event, at: "postHog", Self.postHog("$set", #""$unset":["age"]"#))
        try Self.expect(
            event, at: "segment", Self.segment("track", #""event":"$ProfileUnset","properties":{"$unset":["age"]}"#))
        try Self.expect(
            event, at: "amplitude", Self.amplitude("$identify", #""user_properties":{"$unset":{"age":"-"}}"#))
        try Self.expect(event, at: "mixpanel", Self.engage(#""$unset":["age"]"#))
    }

    @Test("a profile that is deleted")
    func profileDelete() async throws {
        let event = try await Self.loggedIn { identity, _ in identity.profile.delete() }
        try Self.expect(event, at: "postHog", Self.postHog("$ProfileDelete", ""))
        try Self.expect(event, at: "segment", Self.segment("track", #""event":"$ProfileDelete","properties":{}"#))
        try Self.expect(
            event, at: "amplitude", Self.amplitude("$identify", #""user_properties":{"$clearAll":"-"}"#))
        try Self.expect(event, at: "mixpanel", Self.engage(#""$delete":"""#))
    }

    @Test("a screen")
    func screen() async throws {
        let event = try await Self.loggedIn { _, pipeline in
            pipeline.track("$AppViewScreen", ["$screen_name": "Home", "$referrer": "Start"])
        }
        let properties = #""$screen_name":"Home","$referrer":"Start""#
        try Self.expect(event, at: "postHog", Self.postHog("$screen", properties))
        try Self.expect(
            event, at: "segment", Self.segment("screen", #""name":"Home","properties":{"$referrer":"Start"}"#))
        try Self.expect(
            event, at: "amplitude",
            Self.amplitude(
                "[Amplitude] Screen Viewed",
                #""event_properties":{"[Amplitude] Screen Name":"Home","$referrer":"Start"}"#))
        try Self.expect(event, at: "mixpanel", Self.mixpanel("$AppViewScreen", "," + properties))
    }

    @Test("revenue")
    func revenue() async throws {
        let event = try await Self.loggedIn { _, pipeline in
            pipeline.track(Revenue(25, currency: "EUR", productID: "A-7", quantity: 2, ["coupon": "X"]))
        }
        let order = #"""
            "order_id":"\#(Self.id)","revenue":25.0,"currency":"EUR","coupon":"X",\#
            "products":[{"product_id":"A-7","price":12.5,"quantity":2}]
            """#
        try Self.expect(event, at: "postHog", Self.postHog("Order Completed", order))
        try Self.expect(
            event, at: "segment", Self.segment("track", #""event":"Order Completed","properties":{\#(order)}"#))
        try Self.expect(
            event, at: "amplitude",
            Self.amplitude(
                "revenue_amount",
                #"""
                "revenue":25.0,"price":12.5,"quantity":2,"productId":"A-7","currency":"EUR",\#
                "event_properties":{"coupon":"X"}
                """#))
        try Self.expect(
            event, at: "mixpanel", Self.mixpanel("Order Completed", "," + order),
            Self.engage(#""$append":{"$transactions":{"$amount":25.0,"$time":"2026-01-01T00:00:00"}}"#))
    }

    @Test("revenue without a person is no part of a profile, and a host's own names take precedence")
    func revenueOfNobody() throws {
        var event = Event.bare
        event.name = "$Revenue"
        event.properties = ["$amount": 3, "$quantity": 0, "order_id": "own", "revenue": 4]
        let records = try Self.records(event, .mixpanel(token: "k", locatesUsers: true)).array
        #expect(records?.count == 1)
        let properties = records?.first?.object?["properties"]?.object
        #expect(properties?["order_id"] == "own" && properties?["revenue"] == 4)
        #expect(properties?["products"] == [["quantity": 0]])
    }

    @Test("items and bound ids, which only Sensors Analytics has, are events and properties")
    func itemsAndBoundIDs() async throws {
        let item = try await Self.loggedIn { identity, _ in try identity.setItem("book", "b-7", ["price": 9]) }
        let properties = #""$item_type":"book","$item_id":"b-7","$item":{"price":9}"#
        try Self.expect(item, at: "postHog", Self.postHog("$ItemSet", properties))
        try Self.expect(
            item, at: "segment", Self.segment("track", #""event":"$ItemSet","properties":{\#(properties)}"#))
        try Self.expect(item, at: "amplitude", Self.amplitude("$ItemSet", #""event_properties":{\#(properties)}"#))
        try Self.expect(item, at: "mixpanel", Self.mixpanel("$ItemSet", "," + properties))
        let bound = try await Self.loggedIn { identity, pipeline in
            try identity.bind("crm", to: "7")
            pipeline.track("Bought")
        }
        let ids = #""$identities":{"crm":"7"}"#
        try Self.expect(bound, at: "postHog", Self.postHog("Bought", ids))
        try Self.expect(bound, at: "segment", Self.segment("track", #""event":"Bought","properties":{\#(ids)}"#))
        try Self.expect(bound, at: "amplitude", Self.amplitude("Bought", #""event_properties":{\#(ids)}"#))
        try Self.expect(bound, at: "mixpanel", Self.mixpanel("Bought", "," + ids))
    }

    @Test(
        "an event with a verb's name but without its properties is an ordinary one",
        arguments: Verb.eventNames.subtracting(["$ProfileDelete"]).sorted())
    func similarEventsAreOrdinary(name: String) async throws {
        let event = try await Self.loggedIn { _, pipeline in pipeline.track(name, ["$set": 1, "$alias": 2]) }
        let properties = #""$set":1,"$alias":2"#
        try Self.expect(event, at: "postHog", Self.postHog(name, properties))
        try Self.expect(
            event, at: "segment", Self.segment("track", #""event":"\#(name)","properties":{\#(properties)}"#))
        try Self.expect(event, at: "amplitude", Self.amplitude(name, #""event_properties":{\#(properties)}"#))
        try Self.expect(event, at: "mixpanel", Self.mixpanel(name, "," + properties))
    }

    @Test("each test that the table of verbs names exists")
    func tableNamesTests() throws {
        let page = try Repository.text("Docs/WireFormats.md")
        for (mark, name, count) in [("verbs", "VerbTests", 60), ("sensors", "SensorsRecordTests", 15)] {
            let path = "Tests/SluiceVendorsTests/Formats/\(name).swift"
            let source = try Repository.text(path)
            #expect(page.contains("[\(mark)]: ../\(path)"))
            let names = page.components(separatedBy: "`][\(mark)]").dropLast().compactMap {
                $0.split(separator: "`").last
            }
            #expect(names.count == count)
            for name in names { #expect(source.contains("func \(name)("), "\(name)") }
        }
    }

    // MARK: Persons and places

    @Test("a distinct id without an anonymous one is a user's, as a server sets it")
    func serverEventHasUserID() throws {
        var event = Event.bare
        event.distinctID = "u-9"
        for (vendor, user, device) in [
            ("segment", "userId", "anonymousId"), ("amplitude", "user_id", "device_id"),
        ] {
            let record = try Self.records(event, #require(Self.formats[vendor])).array?.first?.object
            #expect(record?[user] == "u-9")
            #expect(record?[device] == nil)
        }
        let mixpanel = try Self.records(event, #require(Self.formats["mixpanel"])).array?.first?.object
        #expect(mixpanel?["properties"]?.object?["$user_id"] == "u-9")
        let postHog = try Self.records(event, #require(Self.formats["postHog"])).array?.first?.object
        #expect(postHog?["properties"]?.object?["$is_identified"] == true)
        #expect(postHog?["options"] == ["process_person_profile": true])
    }

    @Test("an event before a login creates no person at PostHog, and one without a person has no id at Mixpanel")
    func anonymousEventCreatesNoPerson() throws {
        for event in [Event.anonymous, .bare] {
            let record = try Self.records(event, #require(Self.formats["postHog"])).array?.first?.object
            #expect(record?["options"] == ["process_person_profile": false])
        }
        let record = try Self.records(.bare, #require(Self.formats["mixpanel"])).array?.first?.object
        #expect(record?["properties"]?.object?["distinct_id"] == "")
    }

    @Test("neither the location nor the system of a server is the user's")
    func serverHasNoLocation() async throws {
        func properties(_ format: HTTPFormat, _ event: Event) throws -> Properties? {
            let record = try Self.records(event, format).array?.first?.object
            return record?["properties"]?.object ?? record
        }
        #expect(try properties(.mixpanel(token: "k", locatesUsers: false), .bare)?["ip"] == 0)
        #expect(try properties(.mixpanel(token: "k", locatesUsers: true), .bare)?["ip"] == nil)
        for name in ["$geoip_disable", "$is_server"] {
            for format in [HTTPFormat.postHog, HTTPFormat.postHogBatch] {
                #expect(try properties(format("k", false, false), .bare)?[name] == true)
                #expect(try properties(format("k", false, true), .bare)?[name] == nil)
            }
        }
        #expect(try properties(.amplitude(apiKey: "k", locatesUsers: false), .bare)?["ip"] == nil)
        #expect(try properties(.amplitude(apiKey: "k", locatesUsers: true), .bare)?["ip"] == "$remote")
        let profile = try await Self.event { identity, _ in identity.profile.delete() }
        for locates in [true, false] {
            let request = try Self.request(profile, .mixpanel(token: "k", locatesUsers: locates))
            #expect(request.url == "https://h/engage?strict=1&verbose=1&ip=\(locates ? 1 : 0)")
            #expect(request.header("Authorization") == nil)
        }
        var event = Event.bare
        event.properties["ip"] = "1.2.3.4"
        #expect(try properties(.mixpanel(token: "k", locatesUsers: false), event)?["ip"] == "1.2.3.4")
        #if os(Linux)
            #expect(try properties(.mixpanel(token: "k"), .bare)?["ip"] == 0)
            #expect(try properties(.postHog(apiKey: "k"), .bare)?["$geoip_disable"] == true)
            #expect(try properties(.amplitude(apiKey: "k"), .bare)?["ip"] == nil)
        #endif
    }

    @Test("Mixpanel's profiles need the project's token")
    func profilesNeedToken() async throws {
        let event = try await Self.loggedIn { identity, _ in identity.profile.set(["name": "Ada"]) }
        let account = HTTPFormat.mixpanel(project: "7", user: "u", secret: "s", locatesUsers: true)
        let login = try await Self.event { identity, _ in try identity.login("u-1", ["plan": "free"]) }
        let properties = #","$anon_distinct_id":"$device:a-1","$identified_id":"u-1","plan":"free""#
        let identify = Self.mixpanel("$identify", properties)
        #expect(try Self.records(login, account) == .array([JSONReader.value(of: Array(identify.utf8))]))
        #expect(try Self.request(event, account).url == "https://h/import?strict=1&project_id=7")
        let expected = Self.mixpanel("$ProfileSet", #","$set":{"name":"Ada"}"#)
        #expect(try Self.records(event, account) == .array([JSONReader.value(of: Array(expected.utf8))]))
        let whole = HTTPFormat.mixpanel(project: "7", user: "u", secret: "s", token: "k", locatesUsers: true)
        #expect(try Self.request(event, whole).url == "https://h/engage?strict=1&verbose=1&ip=1")
    }

    @Test("PostHog can be told that events are old ones")
    func historicalMigration() throws {
        for (isOld, expected) in [(true, true), (false, nil)] as [(Bool, PropertyValue?)] {
            let format = HTTPFormat.postHog(apiKey: "k", isHistoricalMigration: isOld)
            let body = try JSONReader.value(of: Self.request(.bare, format).body)
            #expect(body.object?["historical_migration"] == expected)
        }
        let batch = HTTPFormat.postHogBatch(apiKey: "k", isHistoricalMigration: true)
        let body = try JSONReader.value(of: Self.request(.bare, batch).body)
        #expect(body.object?["historical_migration"] == true)
    }

    @Test("PostHog's older API has the same records, with the library and the controls among the properties")
    func olderPostHogRecords() async throws {
        let event = try await Self.event { identity, _ in try identity.login("u-1", ["plan": "free"]) }
        let expected = #"""
            [{"event":"$identify","distinct_id":"u-1","uuid":"\#(Self.id)","properties":{"distinct_id":"u-1",\#
            "$anon_distinct_id":"a-1","$set":{"plan":"free"},"$lib":"Sluice","$lib_version":"\#(Self.version)",\#
            "$device_id":"a-1","$is_identified":true,"$process_person_profile":true},\#
            "timestamp":"2026-01-01T00:00:00.123Z"}]
            """#
        let records = try Self.records(event, .postHogBatch(apiKey: "k", locatesUsers: true))
        #expect(records == (try PropertyValue(json: Array(expected.utf8))))
    }

    // MARK: Automatic properties

    private static let automatic: Properties = [
        "$lib": "Shop", "$lib_version": "7.0", "$app_name": "Shop", "$app_version": "2.4.1", "$app_build": "7",
        "$app_id": "example.shop", "$manufacturer": "Apple", "$model": "iPhone15,2", "$os": "iOS",
        "$os_version": "17.1", "$locale": "de_DE",
        "$country": "DE", "$timezone": "Europe/Berlin", "$screen_width": 390, "$screen_height": 844, "$wifi": true,
        "$network_type": "wifi", "$carrier": "Net", "$session_id": "019b7705-8c00-7abc-8000-0000ffff0001",
    ]

    private static func automaticEvent() -> Event {
        var event = Event.anonymous
        event.properties = ["sku": "A-7"]
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
        let format = HTTPFormat(SegmentFormat(writeKey: "k", instanceID: FormatSample.instance))
        let record = try Self.records(Self.automaticEvent(), format).array?.first?.object
        #expect(
            record?["context"] == [
                "library": ["name": "Shop", "version": "7.0"],
                "app": ["name": "Shop", "version": "2.4.1", "build": "7", "namespace": "example.shop"],
                "device": ["id": "a2", "manufacturer": "Apple", "model": "iPhone15,2", "type": "ios"],
                "os": ["name": "iOS", "version": "17.1"],
                "screen": ["width": 390, "height": 844], "locale": "de_DE", "timezone": "Europe/Berlin",
                "network": ["wifi": true, "cellular": false, "carrier": "Net"],
                "instanceId": .string(FormatSample.instance.description),
            ])
        #expect(
            record?["properties"] == [
                "sku": "A-7", "$country": "DE", "$session_id": "019b7705-8c00-7abc-8000-0000ffff0001",
            ])
    }

    @Test("Amplitude has the automatic properties beside the event's own")
    func amplitudeTopLevel() throws {
        let format = HTTPFormat.amplitude(apiKey: "k", locatesUsers: false)
        let record = try Self.records(Self.automaticEvent(), format).array?.first?.object
        let expected: Properties = [
            "platform": "iOS", "os_name": "iOS", "os_version": "17.1", "app_version": "2.4.1",
            "device_manufacturer": "Apple", "device_model": "iPhone15,2", "carrier": "Net", "language": "de-DE",
            "country": "DE", "session_id": 1_767_228_410_880,
        ]
        for property in expected { #expect(record?[property.name] == property.value, "\(property.name)") }
        #expect(record?["event_properties"]?.object?["$os"] == nil)
        #expect(record?["event_properties"]?.object?["sku"] == "A-7")
    }

    @Test("Mixpanel and PostHog get the version, the build, the library and the bundle's id under their own names")
    func versionHasVendorsNames() throws {
        func properties(_ format: HTTPFormat, _ own: Properties = [:]) throws -> Properties? {
            var event = Self.automaticEvent()
            event.properties.merge(own)
            return try Self.records(event, format).array?.first?.object?["properties"]?.object
        }
        let mixpanel = try properties(.mixpanel(token: "k"))
        #expect(mixpanel?["$app_version_string"] == "2.4.1" && mixpanel?["$app_build_number"] == "7")
        #expect(mixpanel?["$app_version"] == nil && mixpanel?["$app_build"] == nil)
        #expect(mixpanel?["mp_lib"] == "Shop" && mixpanel?["$lib"] == nil && mixpanel?["$lib_version"] == "7.0")
        let own = try properties(.mixpanel(token: "k"), ["$app_build_number": 8])
        #expect(own?["$app_build_number"] == 8 && own?["$app_build"] == "7")
        let postHog = try properties(.postHog(apiKey: "k"))
        #expect(postHog?["$app_namespace"] == "example.shop" && postHog?["$app_id"] == nil)
        #expect(postHog?["$app_build"] == "7")
        let ownNamespace = try properties(.postHog(apiKey: "k"), ["$app_namespace": "mine"])
        #expect(ownNamespace?["$app_namespace"] == "mine" && ownNamespace?["$app_id"] == "example.shop")
    }

    @Test("PostHog's and Sensors' library is the event's")
    func libraryIsEvents() throws {
        let record = try Self.records(Self.automaticEvent(), .postHogBatch(apiKey: "k")).array?.first?.object
        #expect(record?["properties"]?.object?["$lib_version"] == "7.0")
        var writer = JSONWriter()
        writer.object { SensorsFormat.write(Self.automaticEvent(), Timestamp(milliseconds: 0), to: &$0) }
        let sensors = try JSONReader.value(of: writer.bytes).object
        #expect(
            sensors?["lib"] == [
                "$lib": "Shop", "$lib_version": "7.0", "$lib_method": "code", "$app_version": "2.4.1",
            ])
    }
}
