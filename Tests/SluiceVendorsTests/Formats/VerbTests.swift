import Foundation
import HTTPTestSupport
import Sluice
import SluiceIdentity
import TestSupport
import Testing

@testable import SluiceHTTP
@testable import SluiceVendors

/// The records of the verbs at vendors that have record types of their own for them. `SensorsRecordTests` has those of
/// Sensors Analytics.
@Suite("Verbs on every wire")
struct VerbTests {
    private static let version = LibraryVersion.current

    /// Expects these records of an event.
    private func expect(
        _ event: Event, postHog: String? = nil, segment: String? = nil, amplitude: String..., mixpanel: String...,
        location: SourceLocation = #_sourceLocation
    ) throws {
        let all = [
            ("postHog", postHog.map { [$0] } ?? []), ("segment", segment.map { [$0] } ?? []), ("amplitude", amplitude),
            ("mixpanel", mixpanel),
        ]
        for (vendor, expected) in all where !expected.isEmpty {
            let records = try Self.records(event, #require(Self.formats[vendor]))
            let json = try JSONReader.value(of: Array("[\(expected.joined(separator: ","))]".utf8))
            #expect(records == json, "\(vendor)", sourceLocation: location)
        }
    }

    /// Expects an event without a record type of its own.
    private func expectOrdinary(
        _ event: Event, _ name: String, _ properties: String, location: SourceLocation = #_sourceLocation
    ) throws {
        try expect(
            event, postHog: postHog(name, properties), segment: track(name, properties),
            amplitude: amplitude(name, #""event_properties":{\#(properties)}"#),
            mixpanel: mixpanel(name, "," + properties), location: location)
    }

    // MARK: The parts that all records of a vendor have

    private func postHog(
        _ name: String, _ properties: String, user: String? = "u-1", concernsPerson: Bool = true
    ) -> String {
        let own = properties.isEmpty ? "" : properties + ","
        return #"""
            {"event":"\#(name)","uuid":"\#(Self.id)","distinct_id":"\#(user ?? "a-1")",\#
            "timestamp":"2026-01-01T00:00:00.123Z","options":{"process_person_profile":\#(concernsPerson)},\#
            "properties":{\#(own)"$device_id":"a-1","$is_identified":\#(user != nil)}}
            """#
    }

    private func segment(
        _ type: String, _ members: String, user: String? = "u-1", context: String = ""
    ) -> String {
        #"""
        {"type":"\#(type)","messageId":"\#(Self.id)","anonymousId":"a-1",\#(user.map { #""userId":"\#($0)","# } ?? "")\#
        \#(members.isEmpty ? "" : members + ",")"context":{"library":{"name":"Sluice","version":"\#(Self.version)"},\#
        "device":{"id":"a-1"},"instanceId":"\#(FormatSample.instance)"\#(context)},\#
        "timestamp":"2026-01-01T00:00:00.123Z"}
        """#
    }

    private func track(_ name: String, _ properties: String, context: String = "") -> String {
        segment("track", #""event":"\#(name)","properties":{\#(properties)}"#, context: context)
    }

    private func amplitude(
        _ type: String, _ members: String, user: String? = "u-1", suffix: String = ""
    ) -> String {
        #"""
        {"event_type":"\#(type)",\#(user.map { #""user_id":"\#($0)","# } ?? "")"device_id":"a-1",\#
        "time":1767225600123,"insert_id":"\#(Self.id)\#(suffix)","ip":"$remote","library":"Sluice/\#(Self.version)",\#(members)}
        """#
    }

    /// A change of the user's properties at Amplitude.
    private func identify(_ change: String, user: String? = "u-1") -> String {
        amplitude("$identify", #""user_properties":{\#(change)}"#, user: user)
    }

    private func mixpanel(_ name: String, _ properties: String) -> String {
        #"""
        {"event":"\#(name)","properties":{"time":1767225600123,"distinct_id":"u-1","$insert_id":"\#(Self.id)",\#
        "$device_id":"a-1","$user_id":"u-1"\#(properties)}}
        """#
    }

    private func engage(_ operation: String, user: String? = "u-1") -> String {
        #"""
        {"$token":"k","$distinct_id":"\#(user ?? "$device:a-1")","$device_id":"a-1",\#
        \#(user.map { #""$user_id":"\#($0)","# } ?? "")"$time":1767225600123,\#(operation)}
        """#
    }

    private static let freePlan = #""$set":{"plan":"free"}"#

    // MARK: Logins and groups

    @Test("a first login")
    func login() async throws {
        let event = try await Self.event { identity, _ in try identity.login("u-1", ["plan": "free"]) }
        try expect(
            event, postHog: postHog("$identify", #""$anon_distinct_id":"a-1","# + Self.freePlan),
            segment: segment("identify", #""traits":{"plan":"free"}"#), amplitude: identify(Self.freePlan),
            mixpanel: mixpanel("$identify", #","$anon_distinct_id":"$device:a-1","$identified_id":"u-1""#),
            engage(Self.freePlan))
    }

    @Test("a login in place of another user has the record of each vendor, without a join of the two")
    func switchingLogin() async throws {
        let event = try await Self.event { identity, _ in
            try identity.login("u-0")
            try identity.login("u-1")
        }
        let properties = #""$original_id":"a-1","$switches_user":true"#
        try expect(
            event, postHog: postHog("$SignUp", properties), segment: segment("identify", ""),
            amplitude: amplitude("$SignUp", #""event_properties":{\#(properties)}"#),
            mixpanel: mixpanel("$identify", #","$identified_id":"u-1""#))
    }

    @Test("a login in place of another user has its properties in the same record as a first login")
    func switchingLoginHasTraits() async throws {
        let event = try await Self.event { identity, _ in
            try identity.login("u-0")
            try identity.login("u-1", ["plan": "free"])
        }
        try expect(
            event, postHog: postHog("$set", Self.freePlan), segment: segment("identify", #""traits":{"plan":"free"}"#),
            amplitude: identify(Self.freePlan), mixpanel: mixpanel("$identify", #","$identified_id":"u-1""#),
            engage(Self.freePlan))
    }

    @Test("an alias")
    func alias() async throws {
        let event = try await Self.loggedIn { identity, _ in try identity.alias("old-7") }
        // Amplitude has another API for aliases.
        try expect(
            event, postHog: postHog("$create_alias", #""alias":"old-7""#),
            segment: segment("alias", #""previousId":"old-7""#),
            amplitude: amplitude("$Alias", #""event_properties":{"$alias":"old-7"}"#),
            mixpanel: mixpanel("$create_alias", #","alias":"old-7""#))
    }

    @Test(
        "a login and an alias with the former id are Segment's alias of a new id, and Mixpanel's has the id of earlier events",
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
        try expect(
            event, segment: segment("alias", #""previousId":"\#(former ?? "a-1")""#),
            mixpanel: mixpanel("$create_alias", #","alias":"\#(former ?? "$device:a-1")""#))
    }

    @Test("an alias before a login has a user id where Segment requires one")
    func aliasBeforeLogin() async throws {
        let event = try await Self.event { identity, _ in try identity.alias("old-7") }
        try expect(
            event, postHog: postHog("$create_alias", #""alias":"old-7""#, user: nil),
            segment: segment("alias", #""previousId":"old-7""#, user: "a-1"))
    }

    @Test("a group with properties")
    func group() async throws {
        let event = try await Self.loggedIn { identity, _ in
            try identity.join(group: "acme", ofType: "company", ["plan": "pro"])
        }
        let groups = #""groups":{"company":"acme"},"#
        try expect(
            event,
            postHog: postHog(
                "$groupidentify",
                #""$group_type":"company","$group_key":"acme","$group_set":{"plan":"pro"},"$groups":{"company":"acme"}"#
            ),
            segment: segment("group", #""groupId":"acme","traits":{"plan":"pro","groupType":"company"}"#),
            amplitude: amplitude("$groupidentify", groups + #""group_properties":{"$set":{"plan":"pro"}}"#),
            amplitude("$identify", groups + #""user_properties":{"$set":{"company":"acme"}}"#, suffix: "-join"),
            mixpanel:
                #"{"$token":"k","$group_key":"company","$group_id":"acme","$time":1767225600123,"$set":{"plan":"pro"}}"#
        )
    }

    @Test("an event of a user in a group")
    func eventInGroup() async throws {
        let event = try await Self.loggedIn { identity, pipeline in
            try identity.join(group: "acme", ofType: "company")
            pipeline.track("Bought", ["sku": "A-7"])
        }
        let properties = #""sku":"A-7","$groups":{"company":"acme"}"#
        try expect(
            event, postHog: postHog("Bought", properties),
            segment: track("Bought", properties, context: #","groupId":"acme""#),
            amplitude: amplitude("Bought", #""groups":{"company":"acme"},"event_properties":{"sku":"A-7"}"#),
            mixpanel: mixpanel("Bought", #","company":["acme"],"sku":"A-7""#))
    }

    // MARK: Profiles

    @Test("properties of a profile, before a login too")
    func profileSet() async throws {
        let event = try await Self.event { identity, _ in identity.profile.set(["name": "Ada"]) }
        let change = #""$set":{"name":"Ada"}"#
        try expect(
            event, postHog: postHog("$set", change, user: nil),
            segment: segment("identify", #""traits":{"name":"Ada"}"#, user: nil),
            amplitude: identify(change, user: nil), mixpanel: engage(change, user: nil))
    }

    @Test("properties of a profile that are set once")
    func profileSetOnce() async throws {
        let event = try await Self.loggedIn { identity, _ in identity.profile.setOnce(["first": "web"]) }
        let change = #""$set_once":{"first":"web"}"#
        try expect(
            event, postHog: postHog("$set", change), segment: track("$ProfileSetOnce", change),
            amplitude: identify(#""$setOnce":{"first":"web"}"#), mixpanel: engage(change))
    }

    @Test("numbers of a profile that are incremented")
    func profileIncrement() async throws {
        let event = try await Self.loggedIn { identity, _ in try identity.profile.increment(["visits": 2]) }
        let (change, add) = (#""$increment":{"visits":2}"#, #""$add":{"visits":2}"#)
        try expect(
            event, postHog: postHog("$ProfileIncrement", change), segment: track("$ProfileIncrement", change),
            amplitude: identify(add), mixpanel: engage(add))
    }

    @Test("values that are appended to lists of a profile")
    func profileAppend() async throws {
        let event = try await Self.loggedIn { identity, _ in
            identity.profile.append(["tags": ["new", "old"], "sizes": 7])
        }
        let change = #""$append":{"tags":["new","old"],"sizes":[7]}"#
        try expect(
            event, postHog: postHog("$ProfileAppend", change), segment: track("$ProfileAppend", change),
            amplitude: identify(change), mixpanel: engage(#""$append":{"tags":"new","sizes":7}"#),
            engage(#""$append":{"tags":"old"}"#))
    }

    @Test("properties that are removed from a profile")
    func profileUnset() async throws {
        let event = try await Self.loggedIn { identity, _ in identity.profile.unset("age") }
        let change = #""$unset":["age"]"#
        try expect(
            event, postHog: postHog("$set", change), segment: track("$ProfileUnset", change),
            amplitude: identify(#""$unset":{"age":"-"}"#), mixpanel: engage(change))
    }

    @Test("a profile that is deleted")
    func profileDelete() async throws {
        let event = try await Self.loggedIn { identity, _ in identity.profile.delete() }
        try expect(
            event, postHog: postHog("$ProfileDelete", ""), segment: track("$ProfileDelete", ""),
            amplitude: identify(#""$clearAll":"-""#), mixpanel: engage(#""$delete":"""#))
    }

    // MARK: Events

    @Test("a screen")
    func screen() async throws {
        let event = try await Self.loggedIn { _, pipeline in
            pipeline.track("$AppViewScreen", ["$screen_name": "Home", "$referrer": "Start"])
        }
        let properties = #""$screen_name":"Home","$referrer":"Start""#
        try expect(
            event, postHog: postHog("$screen", properties),
            segment: segment("screen", #""name":"Home","properties":{"$referrer":"Start"}"#),
            amplitude: amplitude(
                "[Amplitude] Screen Viewed",
                #""event_properties":{"[Amplitude] Screen Name":"Home","$referrer":"Start"}"#),
            mixpanel: mixpanel("$AppViewScreen", "," + properties))
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
        try expect(
            event, postHog: postHog("Order Completed", order), segment: track("Order Completed", order),
            amplitude: amplitude(
                "revenue_amount",
                #"""
                "revenue":25.0,"price":12.5,"quantity":2,"productId":"A-7","currency":"EUR",\#
                "event_properties":{"coupon":"X"}
                """#),
            mixpanel: mixpanel("Order Completed", "," + order),
            engage(#""$append":{"$transactions":{"$amount":25.0,"$time":"2026-01-01T00:00:00"}}"#))
    }

    @Test("items and bound ids, which only Sensors Analytics has, are events and properties")
    func itemsAndBoundIDs() async throws {
        let item = try await Self.loggedIn { identity, _ in try identity.setItem("book", "b-7", ["price": 9]) }
        try expectOrdinary(item, "$ItemSet", #""$item_type":"book","$item_id":"b-7","$item":{"price":9}"#)
        let bound = try await Self.loggedIn { identity, pipeline in
            try identity.bind("crm", to: "7")
            pipeline.track("Bought")
        }
        try expectOrdinary(bound, "Bought", #""$identities":{"crm":"7"}"#)
    }

    @Test(
        "an event with a verb's name but without its properties is an ordinary one",
        arguments: Verb.eventNames.subtracting(["$ProfileDelete"]).sorted())
    func similarEventsAreOrdinary(name: String) async throws {
        let event = try await Self.loggedIn { _, pipeline in pipeline.track(name, ["$set": 1, "$alias": 2]) }
        try expectOrdinary(event, name, #""$set":1,"$alias":2"#)
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
}
