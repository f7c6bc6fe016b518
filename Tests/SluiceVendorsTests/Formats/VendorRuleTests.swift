import HTTPTestSupport
import Sluice
import SluiceIdentity
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceHTTP
@testable import SluiceVendors

/// Rules that hold for the records of all vendors.
@Suite("Rules for the records of all vendors")
struct VendorRuleTests {
    // MARK: Changes of nothing

    typealias Use = @Sendable (Identity) throws -> Void

    static let changesOfNothing: [(String, [Use])] = [
        ("the first login", [{ try $0.login("u-1") }]),
        ("another login", [{ try $0.login("u-0") }, { try $0.login("u-1") }]),
        ("set", [{ $0.profile.set([:]) }]), ("setOnce", [{ $0.profile.setOnce([:]) }]),
        ("increment", [{ try $0.profile.increment([:]) }]), ("append", [{ $0.profile.append([:]) }]),
        ("append an empty list", [{ $0.profile.append(["tags": PropertyValue.array([])]) }]),
        ("unset", [{ $0.profile.unset() }]), ("join", [{ try $0.join(group: "acme", ofType: "company") }]),
        ("set after a login", [{ try $0.login("u-1") }, { $0.profile.set([:]) }]),
        ("unset after a login", [{ try $0.login("u-1") }, { $0.profile.unset() }]),
        ("join after a login", [{ try $0.login("u-1") }, { try $0.join(group: "acme", ofType: "company", [:]) }]),
    ]

    @Test(
        "a change of nothing sends no empty change, and the event arrives", arguments: changesOfNothing.indices,
        ["postHog", "postHogBatch", "segment", "rudderStack", "amplitude", "mixpanel", "googleAnalytics"])
    func nothingEmptyIsSent(row: Int, name: String) async throws {
        let (title, steps) = Self.changesOfNothing[row]
        let event = try await VerbTests.event { identity, _ in for step in steps { try step(identity) } }
        let requests = try VerbTests.requests(event, FormatSample.named(name).format)
        #expect(requests.count == 1, "\(title)")
        let changes: Set = ["traits", "user_properties", "group_properties"]
        for (member, value) in try requests.flatMap({ try $0.json.members }) where changes.contains(member) {
            #expect(value != [:] && value != ["$set": [:]], "\(title)")
        }
        let request = try #require(requests.first)
        let types = try request.json.types
        #expect(types.count == 1, "\(title)")
        if ["$set", "$identify"].contains(types.first), name == "postHog" {
            #expect(request.text.contains("$anon_distinct_id"), "\(title)")
        }
    }

    static let emptyChanges: [(String, Properties)] = [
        ("$SignUp", ["$original_id": "a2", "$set": ["tags": ["a", "b"]]]), ("$ProfileSet", ["$set": ["x": nil]]),
        ("$SignUp", ["$original_id": "a2", "$switches_user": true, "$set": [:]]), ("$ProfileSet", ["$set": [:]]),
        ("$ProfileSetOnce", ["$set_once": [:], "$groups": [:]]), ("$ProfileIncrement", ["$increment": [:]]),
        ("$ProfileAppend", ["$append": [:]]), ("$ProfileUnset", ["$unset": []]), ("$ProfileUnset", ["$unset": [:]]),
        ("$GroupIdentify", ["$group_type": "t", "$group_key": "g", "$group_set": [:], "$groups": ["t": "null"]]),
        ("Seen", ["$groups": [:], "$identities": [:], "$set": [], "own": [:], "list": []]),
    ]

    @Test("no empty change is sent, whatever was left out of it", arguments: emptyChanges.indices, vendors)
    func noEmptyChangeIsSent(row: Int, name: String) throws {
        let (event, properties) = Self.emptyChanges[row]
        let requests = try VerbTests.requests(.anonymous.with(event, properties), FormatSample.named(name).format)
        let changes: Set = [
            "traits", "user_properties", "group_properties", "groups", "$groups", "$identities", "$set", "$set_once",
            "$setOnce", "$increment", "$add", "$append", "$unset", "$group_set", "sluice_set",
        ]
        for (member, value) in try requests.flatMap({ try $0.json.members }) where changes.contains(member) {
            #expect(![[:], [], "{}", "[]"].contains(value), "\(event): \(member)")
        }
        // An object in a text.
        for change in changes { #expect(!requests.contains { $0.text.contains("\"\(change)\\\":{}") }) }
        // Those of the host stay.
        #expect(event != "Seen" || name == "googleAnalytics" || name == "matomo" || requests[0].text.contains("own"))
    }

    // MARK: Blank ids

    static let blanks = [
        "", " ", "   ", "\t", "\n", "\u{A0}", "\u{2003}", "\u{3000}", " \n ", "\r\n", "\u{2028}", "\u{1680}",
    ]

    /// Further texts that stand for a missing id.
    static let placeholders = ["null", "undefined", "0", "[object Object]", "00000000-0000-0000-0000-000000000000"]

    /// The analytics services with bodies of JSON.
    static let vendors = [
        "segment", "rudderStack", "postHog", "postHogBatch", "mixpanel", "mixpanelAccount", "amplitude", "matomo",
        "googleAnalytics", "telemetryDeck", "snowplow",
    ]

    /// The bodies for an event.
    private static func bodies(_ event: Event, _ name: String) throws -> [[UInt8]] {
        if name == "sensors" {
            let record = try EventLine(event).vendorRecord(keepsEmptyChanges: true)
            return [Array(try SensorsFormat.record(of: record).description.utf8)]
        }
        return try VerbTests.requests(event, FormatSample.named(name).format).map(\.body)
    }

    /// The properties of an event, and those that it has without ids of nobody.
    static let propertiesOfNobody: [(Properties, Properties)] = [
        (["$groups": ["company": "null", "n": 0, "team": "t-1"]], ["$groups": ["team": "t-1"]]),
        (
            ["$identities": ["crm": "undefined", "phone": "", "mail": "a@b.example"], "n": 1],
            ["$identities": ["mail": "a@b.example"], "n": 1]
        ),
        (
            ["$groups": ["x": true, "y": nil, "z": ["k": 1], "list": ["(not set)", "a", 7, nil], " ": "b", "f": 2.0]],
            ["$groups": ["list": ["a", 7], "f": 2]]
        ),
        (["$groups": ["company": "undefined", "n": -1]], [:]), (["$identities": ["crm": [], "id": " \n"]], [:]),
        (["$session_id": "undefined"], [:]), (["$window_id": " ", "$device_id": "null", "n": 1], ["n": 1]),
        (["$product_tour_id": "[object Object]", "own": "null"], ["own": "null"]),
    ]

    @Test("an id of nobody among the properties isn't sent", arguments: vendors + ["sensors"])
    func propertiesOfNobodyAreNotSent(name: String) throws {
        for (properties, expected) in Self.propertiesOfNobody {
            let found = try Self.bodies(.anonymous.with(properties), name)
            #expect(try found == Self.bodies(.anonymous.with(expected), name), "\(properties)")
        }
        let event = Event.anonymous.with(Self.propertiesOfNobody[0].0)
        #expect(event.groups == ["team": "t-1"])
    }

    @Test(
        "an id of nobody isn't sent, whichever of the ids it is",
        arguments: [
            "otlp", "sensors", "segment", "rudderStack", "postHog", "postHogBatch", "kafka", "kafkaV3", "mixpanel",
            "mixpanelAccount", "amplitude", "datadog", "influxDB", "matomo", "googleAnalytics", "telemetryDeck",
            "kinesis", "snowplow",
        ])
    func blankIDsAreNotSent(name: String) throws {
        let id = EventID(high: 0x019B_7705_8C00_7000, low: 0x8000_0000_FFFF_0001)
        // As a stored line has them, which the event's own checks haven't seen.
        let paths: [WritableKeyPath<Event, String?>] = [\.checkedDistinctID, \.checkedAnonymousID, \.checkedLoginID]
        func body(_ change: (inout Event) -> Void) throws -> [[UInt8]] {
            var event = Event(id: id, name: "Event", time: Timestamp(milliseconds: 1_767_225_600_123))
            event.distinctID = "u-1"
            event.loginID = "u-1"
            event.anonymousID = "a-1"
            change(&event)
            return try Self.bodies(event, name)
        }
        for blank in Self.blanks + Self.placeholders {
            // All ids, and each one alone.
            for changed in [paths] + paths.map({ [$0] }) {
                let found = try body { event in for path in changed { event[keyPath: path] = blank } }
                let expected = try body { event in for path in changed { event[keyPath: path] = nil } }
                // Kafka and Kinesis send the stored line too.
                if ["kafka", "kafkaV3", "kinesis"].contains(name) {
                    let keys = try [found, expected].map { try $0.flatMap { try PropertyValue(json: $0).keys } }
                    #expect(keys[0] == keys[1], "\(blank.debugDescription)")
                } else {
                    #expect(found == expected, "\(blank.debugDescription)")
                }
            }
        }
    }

    @Test("an event of a verb with an id of nobody is an ordinary event", arguments: blanks + placeholders)
    func verbsNeedIDs(blank: String) throws {
        var events: [(String, Properties)] = [
            ("$SignUp", ["$original_id": .string(blank)]), ("$Alias", ["$alias": .string(blank)]),
            ("$GroupIdentify", ["$group_type": "company", "$group_key": .string(blank)]),
            ("$ItemSet", ["$item_type": "book", "$item_id": .string(blank), "$item": [:]]),
            ("$ItemDelete", ["$item_type": "book", "$item_id": .string(blank)]),
            ("$BindID", ["$id_kind": "crm", "$id_value": .string(blank)]),
            ("$UnbindID", ["$id_kind": "crm", "$id_value": .string(blank)]),
        ]
        // A name can be such a word.
        if Self.blanks.contains(blank) {
            events += [
                ("$GroupIdentify", ["$group_type": .string(blank), "$group_key": "acme"]),
                ("$BindID", ["$id_kind": .string(blank), "$id_value": "7"]),
                ("$ItemSet", ["$item_type": .string(blank), "$item_id": "b-1", "$item": [:]]),
            ]
        }
        for (name, properties) in events {
            let event = Event.bare.with(name, properties)
            #expect(Verb(event) == .track, "\(name)")
            // An item can have such a name.
            let items = Self.blanks.contains(blank) ? [:] : ["$ItemSet": "item_set", "$ItemDelete": "item_delete"]
            #expect(SensorsRecord(event).type == items[name] ?? "track", "\(name)")
        }
    }

    // MARK: Google's names of the host

    private static func parameters(_ revenue: Revenue) async throws -> Properties {
        let event = try await VerbTests.event { _, pipeline in pipeline.track(revenue) }
        let request = try VerbTests.request(event, .googleAnalytics(measurementID: "G-1", apiSecret: "s"))
        return try #require(request.json.object?["events"]?.array?.first?.object?["params"]?.object)
    }

    @Test(
        "a property of the host with the name of a parameter takes its place",
        arguments: [
            ("transaction_id", "T-1"), ("transaction_id", 7), ("engagement_time_msec", 1_500), ("event_id", "mine"),
            ("session_id", "99"), ("session_id", 99), ("value", 3), ("value", 2.5), ("currency", "CHF"),
            ("items", "book"), ("items", [["item_id": "X"]]), ("coupon", "SPRING"), ("tax", 4.5), ("shipping", 0),
            ("items", [["item_id": "X", "price": 2.5], ["item_id": "Y", "discount": 1, "item_name": "B"]]),
        ] as [(String, PropertyValue)])
    func hostsParametersCount(name: String, value: PropertyValue) async throws {
        let revenue = Revenue(25, currency: "EUR", productID: "A-7", PropertyLiteral([name: value] as Properties))
        #expect(try await Self.parameters(revenue)[name] == value)
        // A refund has the same one, so it meets its purchase.
        var refund = revenue
        refund.amount = -25
        #expect(try await Self.parameters(refund)[name] == value)
    }

    @Test(
        "a list, a null or a blank of the host takes no place, and many properties leave room for Google's own",
        arguments: [.null, [1], "", " ", [], [:], [["item_id": "X"], 2], ["item_id": "X"]] as [PropertyValue])
    func unfitParametersDoNotCount(value: PropertyValue) async throws {
        var properties = Properties((0..<40).map { ("p\($0)", .int(Int64($0))) })
        properties["transaction_id"] = value
        properties["value"] = value
        properties["items"] = value
        let revenue = Revenue(25, currency: "eur", productID: "A-7", PropertyLiteral(properties))
        let found = try await Self.parameters(revenue)
        #expect(found["items"] == [["item_id": "A-7", "price": 25.0, "quantity": 1]])
        #expect(found.count == 25)
        #expect(found["transaction_id"] == .string(VerbTests.id) && found["value"] == 25.0)
        #expect(found["currency"] == "EUR")
    }

    @Test("the currency is in capitals at each vendor", arguments: ["EUR", "eur", "Usd", "usd", "cHf"])
    func currencyIsInCapitals(code: String) async throws {
        let event = try await VerbTests.event { _, pipeline in pipeline.track(Revenue(25, currency: code)) }
        #expect(SensorsRecord(event).properties["currency"] == .string(code.uppercased()))
        for name in [
            "segment", "postHog", "postHogBatch", "amplitude", "mixpanel", "googleAnalytics", "telemetryDeck",
        ] {
            let members = try VerbTests.request(event, FormatSample.named(name).format).json.members
            let found = members.filter { ["currency", "TelemetryDeck.Purchase.currencyCode"].contains($0.name) }
            #expect(found.map(\.value) == [.string(code.uppercased())], "\(name)")
            guard name == "telemetryDeck" else { continue }
            #expect(members.contains { $0.name == "floatValue" } == (code.uppercased() == "USD"), "\(code)")
        }
    }

    @Test(
        "an order has the host's id, so a repeated order is the same one, or the event's id if that is missing",
        arguments: [
            ("T 1", "T 1"), (1_001, 1_001), ("undefined", nil), (0, 0), ("0", "0"), ("00", "00"), ("-1", "-1"),
            ("", nil), (" \n", nil),
            ("null", nil), ("(not set)", nil), ("00-00", nil), (true, nil), (1.5, nil), (.null, nil), ([1], nil),
        ] as [(PropertyValue, PropertyValue?)])
    func orderHasHostsID(id: PropertyValue, own: PropertyValue?) async throws {
        let event = try await VerbTests.event { _, pipeline in
            pipeline.track(Revenue(25, PropertyLiteral(["order_id": id] as Properties)))
        }
        let expected = own ?? .string(VerbTests.id)
        for name in ["segment", "rudderStack", "postHog", "postHogBatch", "mixpanel", "mixpanelAccount"] {
            let found = try VerbTests.request(event, FormatSample.named(name).format).json.values(of: "order_id")
            #expect(found == [expected], "\(name)")
        }
        let request = try VerbTests.request(event, .matomo(site: "1", token: "t"))
        let text = expected.text.replacing(" ", with: "%20")
        #expect(request.text.contains("&ec_id=\(text)&"))
        let ids: Properties = ["transaction_id": id, "event_id": id, "session_id": id]
        let google = try await Self.parameters(Revenue(25, PropertyLiteral(ids)))
        #expect(google["transaction_id"] == expected && google["event_id"] == expected)
        #expect(google["session_id"] == own)
    }

    // MARK: Numbers at InfluxDB

    @Test(
        "an integer is a float at InfluxDB, unless integers are kept",
        arguments: [
            (12, "12", "12i"), (12.5, "12.5", "12.5"), (-7, "-7", "-7i"), (0, "0", "0i"), (1.0, "1.0", "1.0"),
            (.int(.max), "9223372036854775807", "9223372036854775807i"),
            (.int(.min), "-9223372036854775808", "-9223372036854775808i"),
            (9_007_199_254_740_993, "9007199254740993", "9007199254740993i"), (1e20, "1e+20", "1e+20"),
            (true, "true", "true"), ("12", "\"12\"", "\"12\""), ([12], "\"[12]\"", "\"[12]\""),
        ] as [(PropertyValue, String, String)])
    func integersAreFloats(value: PropertyValue, float: String, integer: String) throws {
        let event = Event.bare.with(["n": value])
        for (format, expected) in [
            (HTTPFormat.influxDB(bucket: "b", token: "t"), float), (.influxDBV1(database: "d"), float),
            (.influxDB(bucket: "b", token: "t", keepsIntegers: true), integer),
            (.influxDBV1(database: "d", keepsIntegers: true), integer),
        ] {
            let text = try VerbTests.request(event, format).text
            #expect(text.contains(",n=\(expected) "), "\(text)")
        }
    }

    /// The server's clock shows 784111777 s.
    static let resets: [(String, Duration?)] = [
        ("0", .zero), ("7", .seconds(7)), ("9999", .seconds(3_600)), ("784111777", .zero), ("784111800", .seconds(23)),
        ("784111700", .zero), ("784199999", .seconds(3_600)), ("784111800500", .milliseconds(23_500)),
        ("784111000000", .zero), ("99999999999999999999", nil), ("", nil), ("-1", nil), ("1.5", nil), ("soon", nil),
    ]

    @Test(
        "Segment's X-RateLimit-Reset is read as seconds, or as a Unix time in seconds or milliseconds",
        arguments: resets)
    func rateLimitResetIsParsed(text: String, expected: Duration?) throws {
        let response = HTTPResponse(
            status: 429, headers: [("Date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("X-RateLimit-Reset", text)])
        let batch = try Batch.numbered(1)
        let format = SegmentFormat(writeKey: "k")
        #expect(format.verdicts(for: batch, from: response) == .all(.retry(after: expected)))
        var both = response
        both.headers.append(("Retry-After", "5"))
        #expect(format.verdicts(for: batch, from: both) == .all(.retry(after: .seconds(5))))
    }

    @Test("the transport contract is kept by every vendor's format", arguments: FormatSample.vendors)
    func everyFormatKeepsContract(sample: FormatSample) async throws {
        try await TransportContract.check {
            HTTPTransport(to: sample.url, format: sample.format, configuration: .init(client: KeepingClient()))
        }
    }
}

extension PropertyValue {
    /// The types or the names of the records of a request.
    fileprivate var types: [String] {
        let records = object?["batch"] ?? object?["events"] ?? self
        return (records.array.map { Array($0) } ?? []).map { record in
            let object = record.object ?? [:]
            return (object["event_type"] ?? object["event"] ?? object["type"] ?? object["name"])?.string ?? "engage"
        }
    }

    /// The keys of Kafka's and Kinesis' records.
    fileprivate var keys: [PropertyValue] {
        let records = object?["records"] ?? object?["Records"]
        let objects = records?.array?.map { $0.object ?? [:] } ?? [object ?? [:]]
        return objects.map { $0["key"] ?? $0["PartitionKey"] ?? .null }
    }
}
