import HTTPTestSupport
import Sluice
import SluiceIdentity
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceHTTP
@testable import SluiceVendors

/// The records for the verbs of `Identity`, with the limits of Sensors Analytics.
@Suite("Records of Sensors Analytics")
struct SensorsRecordTests {
    /// The records of a pipeline's events, without the keys that are equal in all.
    private func records(_ use: (Identity, Pipeline) throws -> Void) async throws -> [String] {
        try await SensorsNameTests.records(use).records.map { record in
            #expect(record["lib"]?.object?["$lib"] == "Sluice")
            var record = record
            for name in ["time", "anonymous_id", "login_id", "lib", "_track_id", "_flush_time"] { record[name] = nil }
            return record.description
        }
    }

    @Test("a login in place of another user is a sign-up too, and its properties are the profile's")
    func otherLoginIsSignUp() async throws {
        let records = try await records { identity, _ in
            try identity.login("u-1")
            try identity.login("u-2", ["plan": "pro"])
        }
        #expect(
            records.dropFirst() == [
                #"{"type":"track_signup","event":"$SignUp","original_id":"a-1","distinct_id":"u-2","properties":{"plan":"pro"}}"#,
                #"{"type":"profile_set","distinct_id":"u-2","properties":{"plan":"pro"}}"#,
            ])
    }

    @Test("a first login is a sign-up with the previous id, and its properties are the profile's")
    func firstLoginIsSignUp() async throws {
        let records = try await records { identity, _ in try identity.login("u-1", ["plan": "free"]) }
        #expect(
            records == [
                #"{"type":"track_signup","event":"$SignUp","original_id":"a-1","distinct_id":"u-1","properties":{"plan":"free"}}"#,
                #"{"type":"profile_set","distinct_id":"u-1","properties":{"plan":"free"}}"#,
            ])
    }

    @Test("the records of a login have a `_track_id` each, which no repeated request changes")
    func loginHasDistinctTrackIDs() async throws {
        let ids = try [0x1, 0x4000_0000, 0x7FFF_FFFF, 0xFFFF_FFFF_FFFF_FFFF].flatMap { (low: UInt64) in
            let login = Event(
                id: EventID(high: 7 << 12, low: low), name: "$SignUp", time: Timestamp(milliseconds: 0),
                anonymousID: "a-1", loginID: "u-1", properties: ["$original_id": "a-1", "$set": ["plan": "free"]])
            return try (0..<2).map { _ in
                try SensorsFormat.events(for: login).map { try SensorsFormat.record(of: $0)["_track_id"] }
            }
        }
        #expect(ids.allSatisfy { $0.count == 2 && $0[0] != $0[1] })
        #expect(ids[0] == ids[1])
    }

    @Test("each profile verb has its type and properties")
    func profileVerbsHaveTypes() async throws {
        let records = try await records { identity, _ in
            identity.profile.set(["name": "Ada", "age": 36])
            identity.profile.setOnce(["first": "web"])
            try identity.profile.increment(["visits": 1, "spent": 2.5])
            identity.profile.append(["tags": "new"])
            identity.profile.unset("name", "age")
            identity.profile.delete()
        }
        #expect(
            records == [
                #"{"type":"profile_set","distinct_id":"a-1","properties":{"name":"Ada","age":36}}"#,
                #"{"type":"profile_set_once","distinct_id":"a-1","properties":{"first":"web"}}"#,
                #"{"type":"profile_increment","distinct_id":"a-1","properties":{"visits":1,"spent":2.5}}"#,
                #"{"type":"profile_append","distinct_id":"a-1","properties":{"tags":["new"]}}"#,
                #"{"type":"profile_unset","distinct_id":"a-1","properties":{"name":true,"age":true}}"#,
                #"{"type":"profile_delete","distinct_id":"a-1","properties":{}}"#,
            ])
    }

    @Test("each item verb has its type and the item's key")
    func itemVerbsHaveTypes() async throws {
        let records = try await records { identity, _ in
            try identity.setItem("book", "b-7", ["price": 9.5])
            try identity.deleteItem("book", "b-7")
        }
        #expect(
            records == [
                #"{"type":"item_set","item_type":"book","item_id":"b-7","properties":{"price":9.5}}"#,
                #"{"type":"item_delete","item_type":"book","item_id":"b-7","properties":{}}"#,
            ])
    }

    @Test("bound ids are sent beside the properties, and binding has types of its own")
    func boundIDsAreIdentities() async throws {
        let records = try await records { identity, pipeline in
            try identity.bind("crm", to: "7")
            try identity.bind("mobile", to: "+49")
            try identity.unbind("crm")
            pipeline.track("Seen", ["n": 1])
        }
        #expect(
            records.dropFirst().dropLast() == [
                #"{"type":"track_id_bind","event":"$BindID","distinct_id":"a-1","identities":{"crm":"7","mobile":"+49","$identity_anonymous_id":"a-1"},"properties":{}}"#,
                #"{"type":"track_id_unbind","event":"$UnbindID","distinct_id":"a-1","identities":{"crm":"7"},"properties":{}}"#,
            ])
        #expect(
            records.last
                == #"{"type":"track","event":"Seen","distinct_id":"a-1","identities":{"mobile":"+49","$identity_anonymous_id":"a-1"},"properties":{"n":1}}"#
        )
        // Sensors joins the ids that one record lists, so a single one would be joined with nothing.
        let first = try await self.records { identity, _ in
            try identity.login("u-1")
            try identity.bind("crm", to: "7")
        }
        #expect(
            first.last
                == #"{"type":"track_id_bind","event":"$BindID","distinct_id":"u-1","identities":{"crm":"7","$identity_login_id":"u-1","$identity_anonymous_id":"a-1"},"properties":{}}"#
        )
    }

    @Test(
        "the distinct id of a server's event is marked as a login id",
        arguments: [
            ("Seen", ["n": 1], ["n": 1, "$is_login_id": true]), ("$ProfileDelete", ["n": 1], ["$is_login_id": true]),
            ("$ItemSet", ["$item_type": "book", "$item_id": "b-7", "$item": ["price": 9]], ["price": 9]),
        ] as [(String, Properties, Properties)])
    func serverEventHasLoginID(name: String, own: Properties, expected: Properties) {
        func properties(_ distinctID: String?, _ anonymousID: String?, _ loginID: String?) -> Properties {
            var event = Event.bare.with(name, own)
            (event.distinctID, event.anonymousID, event.loginID) = (distinctID, anonymousID, loginID)
            return SensorsRecord(event).properties
        }
        #expect(properties("u-1", nil, nil) == expected)
        for ids in [("u-1", "a-1", "u-1"), ("a-1", "a-1", nil), (nil, nil, nil)] as [(String?, String?, String?)] {
            #expect(properties(ids.0, ids.1, ids.2)["$is_login_id"] == nil)
        }
    }

    @Test("aliases and screens are tracks")
    func aliasesAndScreensAreTracks() async throws {
        let records = try await records { identity, pipeline in
            try identity.alias("old-7")
            pipeline.track("$AppViewScreen", ["$screen_name": "Home"])
        }
        #expect(
            records == [
                #"{"type":"track","event":"$Alias","distinct_id":"a-1","properties":{"$alias":"old-7"}}"#,
                #"{"type":"track","event":"$AppViewScreen","distinct_id":"a-1","properties":{"$screen_name":"Home"}}"#,
            ])
    }

    @Test("revenue is a track under a name of one's own")
    func revenueIsTrack() async throws {
        let records = try await records { _, pipeline in
            pipeline.track(Revenue(25, currency: "EUR", productID: "A-7", quantity: 2))
        }
        #expect(
            records == [
                #"{"type":"track","event":"Revenue","distinct_id":"a-1","properties":{"amount":25.0,"quantity":2,"currency":"EUR","product_id":"A-7"}}"#
            ])
    }

    @Test("groups are properties of their own, since Sensors has no objects")
    func groupsAreFlat() async throws {
        let records = try await records { identity, pipeline in
            try identity.join(group: "acme", ofType: "company", ["plan": "pro"])
            pipeline.track("Seen", ["own": ["n": 1]])
        }
        #expect(
            records.first
                == #"{"type":"track","event":"$GroupIdentify","distinct_id":"a-1","properties":"#
                + #"{"groups_company":"acme","$group_type":"company","$group_key":"acme","group_set_plan":"pro"}}"#)
        #expect(records.last?.contains(#""groups_company":"acme"}"#) == true)
    }

    @Test(
        "a group's name depends on its type only, and another property with it yields",
        arguments: [
            ("company", 1), ("company_", 2), (String(repeating: "c", count: 92), 2),
            (String(repeating: "c", count: 93), 1), (String(repeating: "d", count: 94), 0), ("set_x", 3),
        ])
    func flatNamesFit(type: String, taken: Int) {
        let groups = PropertyValue.object([type: "acme"])
        // Further objects, whose members have the same names as a property or as each other.
        var properties: Properties = ["$set": ["once_x": 1], "$set_once": ["x": 2], "set_once_x": 3]
        for count in 0..<taken { properties[String(repeating: "own_", count: count) + "groups_" + type] = "own" }
        for (own, count) in [(properties, taken + 4), ([:], 1)] {
            let record = SensorsRecord(.bare.with(own + ["$groups": groups])).properties
            let names = record.filter { $0.value == "acme" }.map(\.name)
            #expect(names.count == 1 && names[0].hasPrefix("groups_" + type.prefix(80)))
            #expect(type.count > 93 || names == ["groups_" + type])
            #expect(record.count == count && record.allSatisfy { $0.name.count <= 100 || own[$0.name] != nil })
        }
    }

    @Test(
        "an id can't be bound in the place of the record's own ones",
        arguments: [nil, "u-1"], ["$identity_login_id", "$identity_anonymous_id"])
    func ownKindsAreReserved(user: String?, kind: String) async throws {
        let records = try await records { identity, pipeline in
            try identity.bind(kind, to: "crm-2")
            if let user { try identity.login(user) }
            try identity.bind("crm", to: "7")
            pipeline.track("Seen")
            try identity.unbind(kind)
        }
        for record in [records.first, records.last] {
            #expect(record?.hasPrefix(#"{"type":"track","event":"$"#) == true)
            #expect(record?.contains(#""$id_kind":"\#(kind)","$id_value":"crm-2""#) == true)
        }
        for record in records { #expect(!record.contains(#""$identity_login_id":"crm-2""#), "\(record)") }
        for record in records { #expect(!record.contains(#""$identity_anonymous_id":"crm-2""#), "\(record)") }
        #expect(records.contains { $0.contains(#""identities":{"crm":"7","#) && $0.contains(#""event":"Seen""#) })
    }

    @Test("dates are in the event's local time, as Sensors' SDKs write them")
    func datesAreLocal() async throws {
        let date = PropertyValue.date(Timestamp(milliseconds: 1_767_225_600_123))
        let records = try await records { identity, pipeline in
            pipeline.track("Seen", ["at": date])
            pipeline.track("Seen", ["at": date, "$utc_offset": -90])
            identity.profile.set(["born": date])
        }
        #expect(records[0].contains(#""properties":{"at":"2026-01-01 00:00:00.123"}"#))
        #expect(records[1].contains(#""at":"2025-12-31 22:30:00.123""#))
        // Without the limits, which drop such a list.
        #expect(
            SensorsRecord(.bare.with(["list": [date, "x"]])).properties == ["list": ["2026-01-01 00:00:00.123", "x"]])
        #expect(records[2].contains(#""properties":{"born":"2026-01-01 00:00:00.123"}"#))
    }

    @Test(
        "an event with a verb's name but without its properties remains a track",
        arguments: ["$SignUp", "$ProfileSet", "$ProfileUnset", "$ItemSet", "$ItemDelete", "$BindID", "$UnbindID"])
    func similarEventsStayTracks(name: String) async throws {
        let records = try await records { _, pipeline in pipeline.track(name, ["$item_id": 1]) }
        #expect(records == [#"{"type":"track","event":"\#(name)","distinct_id":"a-1","properties":{"$item_id":1}}"#])
    }
}
