import Sluice
import SluiceFilters
import SluiceIdentity
import SluiceTesting
import Testing

@testable import SluiceHTTP
@testable import SluiceVendors

/// The names that Sensors Analytics accepts, in every place where a record has a name.
@Suite("Names at Sensors Analytics")
struct SensorsNameTests {
    /// Names, and whether `NAME_PATTERN` of SensorsAnalyticsSDK 1.11.0 for Python matches them.
    static let names: [(name: String, isValid: Bool)] = [
        ("plan", true), ("Plan2", true), ("_x", true), ("x", true), ("$id", true), ("$device_id", true),
        ("timer", true), ("users2", true), ("user_ta", true), ("eventId", true), ("$", true),
        (String(repeating: "a", count: 100), true), (String(repeating: "a", count: 101), false), ("my-prop", false),
        ("2nd", false), ("K\u{E4}se", false), ("\u{8D2D}\u{4E70}", false), ("with space", false), ("a.b", false),
        ("id", false), ("ID", false), ("date", false), ("datetime", false), ("time", false), ("Time", false),
        ("event", false), ("events", false), ("event_id", false), ("Users", false), ("user_id", false),
        ("user_tag_x", false), ("USER_GROUP", false), ("distinct_id", false), ("original_id", false),
        ("first_id", false), ("second_id", false), ("device_id", false), ("properties", false),
    ]

    /// The vendor's own pattern.
    private static func isAccepted(_ name: String) -> Bool {
        let words =
            "distinct_id|original_id|time|properties|id|first_id|second_id|users|events|event|event_id|device_id|user_id"
            + "|date|datetime"
        let pattern = "(?!(?:\(words))$|user_group|user_tag)[a-zA-Z_$][a-zA-Z0-9_$]{0,99}"
        do {
            return try Regex(pattern).ignoresCase().wholeMatch(in: name) != nil
        } catch {
            Issue.record("\(error)")
            return false
        }
    }

    @Test("the table agrees with the vendor's pattern")
    func tableIsTheVendors() {
        for (name, isValid) in Self.names { #expect(Self.isAccepted(name) == isValid, "\(name)") }
    }

    /// The records of the events that `use` tracks, and the ledger.
    static func records(
        _ use: (Identity, Pipeline) throws -> Void
    ) async throws -> (records: [Properties], ledger: Ledger) {
        let (events, ledger) = try await VerbTests.track(within: Limits(.sensors), use)
        return (try events.flatMap { SensorsFormat.events(for: $0) }.map { try SensorsFormat.record(of: $0) }, ledger)
    }

    /// All names of a record that Sensors takes for names of events, properties and kinds.
    private static func names(of record: Properties) -> [String] {
        [record["event"]?.string, record["item_type"]?.string].compactMap(\.self)
            + (record["properties"]?.object?.map(\.name) ?? []) + (record["identities"]?.object?.map(\.name) ?? [])
    }

    /// A place for a name, and the type of the record that has it.
    struct Place: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let type: String
        /// Whether an event without the name has no meaning.
        var isWhole = false
        /// The name on the wire.
        var wire: @Sendable (String) -> String = { $0 }
        let use: @Sendable (_ name: String, Identity, Pipeline) throws -> Void
    }

    /// A property with the name, and a good one.
    private static func both(_ name: String, _ value: PropertyValue, good: PropertyValue = 2) -> PropertyLiteral {
        PropertyLiteral(Properties([(name, value), ("good", good)]))
    }

    static let places: [Place] = [
        Place(testDescription: "an event", type: "track", isWhole: true) { name, _, pipeline in pipeline.track(name) },
        Place(testDescription: "a property", type: "track") { name, _, pipeline in
            pipeline.track("Seen", both(name, 1))
        },
        Place(testDescription: "profile.set", type: "profile_set") { name, identity, _ in
            identity.profile.set(both(name, 1))
        },
        Place(testDescription: "profile.setOnce", type: "profile_set_once") { name, identity, _ in
            identity.profile.setOnce(both(name, "a"))
        },
        Place(testDescription: "profile.increment", type: "profile_increment") { name, identity, _ in
            try identity.profile.increment(both(name, 1, good: 2.5))
        },
        Place(testDescription: "profile.append", type: "profile_append") { name, identity, _ in
            identity.profile.append(both(name, ["a", "b"], good: "c"))
        },
        Place(testDescription: "profile.unset", type: "profile_unset") { name, identity, _ in
            identity.profile.unset("good", name)
        },
        Place(testDescription: "a trait of the first login", type: "profile_set") { name, identity, _ in
            try identity.login("u-1", both(name, 1))
        },
        Place(testDescription: "a trait of another login", type: "profile_set") { name, identity, _ in
            try identity.login("u-1")
            try identity.login("u-2", both(name, 1))
        },
        Place(testDescription: "a property of an item", type: "item_set") { name, identity, _ in
            try identity.setItem("book", "b-1", both(name, 1))
        },
        Place(testDescription: "a type of items", type: "item_set", isWhole: true) { name, identity, _ in
            try identity.setItem(name, "b-1", ["good": 2])
        },
        Place(testDescription: "a type of deleted items", type: "item_delete", isWhole: true) { name, identity, _ in
            try identity.deleteItem(name, "b-1")
        },
        Place(testDescription: "a kind of ids", type: "track_id_bind", isWhole: true) { name, identity, _ in
            try identity.bind(name, to: "7")
        },
        Place(testDescription: "a kind of bound ids", type: "track") { name, identity, pipeline in
            try identity.bind(name, to: "7")
            pipeline.track("Seen", ["good": 1])
        },
        Place(testDescription: "a type of groups", type: "track", wire: { "groups_" + $0 }) {
            name, identity, pipeline in
            try identity.join(group: "acme", ofType: name)
            pipeline.track("Seen", ["good": 1])
        },
        Place(testDescription: "a property of a group", type: "track", wire: { "group_set_" + $0 }) {
            name, identity, _ in
            try identity.join(group: "acme", ofType: "company", both(name, 1))
        },
    ]

    @Test("only names that Sensors accepts are sent, and what is left out is counted", arguments: places)
    func namesAreAccepted(place: Place) async throws {
        for (name, _) in Self.names {
            let (records, ledger) = try await Self.records { try place.use(name, $0, $1) }
            let isValid = Self.isAccepted(place.wire(name))
            for record in records {
                for name in Self.names(of: record) { #expect(Self.isAccepted(name), "\(name) in \(record)") }
            }
            let found = Set(records.flatMap { Self.names(of: $0) })
            #expect(found.contains(place.wire(name)) == isValid, "\(name)")
            let isCounted = ledger.sanitized[.droppedProperty] ?? 0 > 0 || !ledger.dropped.isEmpty
            #expect(isCounted != isValid, "\(name): \(ledger.sanitized) \(ledger.dropped)")
            // The rest of the event stays, with the type that it would have had.
            guard isValid || !place.isWhole else { continue }
            #expect(records.last?["type"]?.string == place.type, "\(name)")
            #expect(place.isWhole || found.contains { $0.hasSuffix("good") }, "\(name): \(found)")
        }
    }

    @Test(
        "a value that Sensors doesn't accept is left out, and the change of a profile keeps its type and the others",
        arguments: [
            [1, 2], ["a", 1], [["a"]], ["a": 1], [:], [nil], [true], [1.5], [["k": "v"]], ["a", ["b"]],
            ["o": ["p": ["q": 1]]], [.date(Timestamp(milliseconds: 0))],
        ] as [PropertyValue])
    func changesKeepTheirType(value: PropertyValue) async throws {
        let (records, ledger) = try await Self.records { identity, _ in
            let properties = PropertyLiteral(["good": "pro", "bad": value] as Properties)
            identity.profile.set(properties)
            identity.profile.setOnce(properties)
            identity.profile.append(["good": "a", "bad": [value]])
            try identity.setItem("book", "b-1", properties)
            try identity.login("u-1", properties)
            try identity.login("u-2", properties)
        }
        #expect(
            records.map { $0["type"]?.string } == [
                "profile_set", "profile_set_once", "profile_append", "item_set", "track_signup", "profile_set",
                "track_signup", "profile_set",
            ])
        for record in records {
            let names = record["properties"]?.object?.map(\.name).filter { !$0.hasPrefix("$") }
            #expect(names == ["good"], "\(record)")
        }
        #expect(ledger.sanitized == [.droppedProperty: 6])
    }

    @Test("an item is of no person, whoever is logged in")
    func itemHasNoPerson() async throws {
        let (records, _) = try await Self.records { identity, _ in
            try identity.login("u-1")
            try identity.bind("crm", to: "7")
            try identity.join(group: "acme", ofType: "company")
            try identity.setItem("book", "b-1", ["price": 9.5])
            try identity.deleteItem("book", "b-1")
        }
        for record in records.suffix(2) {
            #expect(
                record.map(\.name) == [
                    "type", "time", "item_type", "item_id", "lib", "_track_id", "_flush_time", "properties",
                ])
        }
    }
}
