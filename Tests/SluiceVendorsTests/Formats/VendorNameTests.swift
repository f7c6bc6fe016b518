import HTTPTestSupport
import Sluice
import TestSupport
import Testing

@testable import SluiceHTTP
@testable import SluiceVendors

/// Events of sessions, the lifecycle, timers and the device, under the names and units of each vendor's own SDK.
@Suite("Names and units of the vendors")
struct VendorNameTests {
    private static let session = "019b7705-8c00-7abc-8000-0000ffff0001"

    private static func event(_ name: String, _ properties: Properties = [:]) -> Event {
        Event.anonymous.with(name, properties)
    }

    private static func record(_ event: Event, _ format: HTTPFormat) throws -> Properties {
        try VerbTests.record(event, format)
    }

    @Test(
        "an event of a host with the name that one of ours gets arrives under that name too",
        arguments: [
            ("segment", "$AppStart", "Application Opened"), ("postHog", "$AppInstall", "Application Installed"),
            ("mixpanel", "$Revenue", "Order Completed"), ("amplitude", "$SessionStart", "session_start"),
            ("googleAnalytics", "$Revenue", "purchase"), ("googleAnalytics", "$AppViewScreen", "screen_view"),
            ("telemetryDeck", "$Revenue", "TelemetryDeck.Purchase.completed"),
        ])
    func hostsNameIsShared(vendor: String, ours: String, name: String) throws {
        let format = try FormatSample.named(vendor).format
        for event in [Self.event(ours, ["$amount": 25, "$screen_name": "Home"]), Self.event(name)] {
            let record = try Self.record(event, format)
            let found = record["event"] ?? record["event_type"] ?? record["name"] ?? record["type"]
            #expect(found == .string(name), "\(event.name)")
        }
    }

    // MARK: The lifecycle

    private static let version: Properties = [
        "$app_version": "2.4", "$app_build": "7", "$previous_version": "2.3", "$previous_build": "6",
        "$resume_from_background": true,
    ]

    @Test(
        "Segment, RudderStack and PostHog have the names of Segment's specification",
        arguments: [
            ("$AppStart", "Application Opened"), ("$AppEnd", "Application Backgrounded"),
            ("$AppInstall", "Application Installed"), ("$AppUpdate", "Application Updated"),
        ])
    func lifecycleHasSpecifiedNames(name: String, expected: String) throws {
        for format in [
            HTTPFormat.segment(writeKey: "k"), .rudderStack(writeKey: "k"), .postHog(apiKey: "k"),
            .postHogBatch(apiKey: "k"),
        ] {
            let record = try Self.record(Self.event(name, Self.version), format)
            #expect(record["event"] == .string(expected))
            let properties = record["properties"]?.object
            #expect(properties?["version"] == "2.4" && properties?["build"] == "7")
            #expect(properties?["previous_version"] == "2.3" && properties?["previous_build"] == "6")
            #expect(properties?["from_background"] == true)
            #expect(properties?["$previous_version"] == nil && properties?["$resume_from_background"] == nil)
        }
        // A host's own property takes precedence.
        let own = try Self.record(Self.event(name, ["version": 1, "$app_version": "2"]), .postHog(apiKey: "k"))
        #expect(own["properties"]?.object?["version"] == 1)
    }

    @Test(
        "Amplitude has the names of its own SDKs",
        arguments: [
            ("$AppStart", "[Amplitude] Application Opened"), ("$AppEnd", "[Amplitude] Application Backgrounded"),
            ("$AppInstall", "[Amplitude] Application Installed"), ("$AppUpdate", "[Amplitude] Application Updated"),
            ("$SessionStart", "session_start"), ("$SessionEnd", "session_end"),
        ])
    func amplitudeHasOwnNames(name: String, expected: String) throws {
        var properties = Self.version
        properties["$session_id"] = .string(Self.session)
        let record = try Self.record(Self.event(name, properties), .amplitude(apiKey: "k"))
        #expect(record["event_type"] == .string(expected))
        #expect(record["session_id"] == 1_767_228_410_880)
        #expect(record["app_version"] == "2.4")
        let own = record["event_properties"]?.object
        #expect(own?["[Amplitude] Version"] == "2.4" && own?["[Amplitude] Build"] == "7")
        #expect(own?["[Amplitude] Previous Version"] == "2.3" && own?["[Amplitude] Previous Build"] == "6")
        #expect(own?["[Amplitude] From Background"] == true && own?["$resume_from_background"] == nil)
    }

    // MARK: Units

    @Test(
        "Sensors Analytics gets durations in seconds",
        arguments: ["WatchVideo", "$AppEnd", "$AppPageLeave", "$SessionEnd"])
    func sensorsDurations(name: String) {
        for (milliseconds, seconds) in [(1_234.567, 1.235), (61_000, 61), (0, 0), (5, 0.005)]
            as [(PropertyValue, Double)]
        {
            let record = SensorsRecord(Self.event(name, ["$event_duration": milliseconds]))
            #expect(record.properties == ["event_duration": .double(seconds)])
        }
        #expect(SensorsRecord(Self.event(name, ["$event_duration": "long"])).properties == ["$event_duration": "long"])
        let own = SensorsRecord(Self.event(name, ["$event_duration": 5, "event_duration": 7]))
        #expect(own.properties == ["$event_duration": 5, "event_duration": 7])
    }

    @Test("Sensors Analytics gets the offset to UTC with its own sign, and the session under its own name")
    func sensorsOffsetAndSession() {
        for (offset, expected) in [(60, -60), (-90, 90), (0, 0)] as [(PropertyValue, PropertyValue)] {
            let record = SensorsRecord(Self.event("Seen", ["$utc_offset": offset, "$session_id": "s"]))
            #expect(record.properties == ["$timezone_offset": expected, "$event_session_id": "s"])
        }
    }

    @Test("Mixpanel gets durations in seconds as $duration")
    func mixpanelDurations() throws {
        func properties(_ own: Properties) throws -> Properties? {
            try Self.record(Self.event("WatchVideo", own), .mixpanel(token: "k"))["properties"]?.object
        }
        let record = try properties(["$event_duration": 1_234.567])
        #expect(record?["$duration"] == 1.235 && record?["$event_duration"] == nil)
        let own = try properties(["$event_duration": 5, "$duration": 7])
        #expect(own?["$duration"] == 7 && own?["$event_duration"] == 5)
        #expect(try properties(["$event_duration": "long"])?["$event_duration"] == "long")
    }

    @Test(
        "a group's name at Mixpanel depends on its type only, and each property has a name of its own",
        arguments: [
            ("Bought", ["company": "Acme Inc"], "company", "properties.company", "Acme Inc"),
            ("Bought", ["company": 1, "properties.company": 2], "company", "properties.properties.company", 2),
            ("Bought", [:], "time", "time", 1_767_225_601_000), ("Bought", ["alias": 1], "alias", "alias", 1),
            ("$Alias", ["$alias": "b-2"], "alias", "alias", "b-2"), ("Bought", ["plan": 1], "groups.plan", "plan", 1),
            ("Bought", ["plan": 1, "groups.plan": 2], "plan", "groups.plan", 2),
            ("Bought", ["plan": 1, "groups.plan": 2], "groups.plan", "properties.groups.plan", 2),
            ("Bought", ["time": 7], "properties.time", "properties.time", 7),
            ("Bought", ["$lib": "Shop"], "mp_lib", "properties.mp_lib", "Shop"),
            ("Bought", ["$event_duration": 5_000], "$duration", "properties.$duration", 5.0),
            ("$Revenue", ["$amount": 25], "revenue", "properties.revenue", 25.0),
            ("$Revenue", ["$amount": 25, "$currency": "EUR"], "currency", "properties.currency", "EUR"),
            ("$Revenue", ["$amount": 25], "order_id", "properties.order_id", "019b7705-8c00-7000-8000-0000ffff0003"),
            ("$SignUp", ["$original_id": "a2", "$set": ["company": "A"]], "company", "properties.company", "A"),
        ] as [(String, Properties, String, String, PropertyValue)])
    func mixpanelNamesAreUnique(
        name: String, own: Properties, group: String, property: String, value: PropertyValue
    ) throws {
        let format = HTTPFormat.mixpanel(project: "7", user: "u", secret: "s")
        let isFormats = ["time", "alias", "properties.time"].contains(group)
        for (name, own) in [(name, own), ("Seen", [:])] {
            var event = Self.event(name, own)
            event.properties["$groups"] = .object([group: "acme"])
            // A name that is twice in the body would throw.
            let properties = try Self.record(event, format)["properties"]?.object
            #expect(properties?[isFormats ? "groups." + group : group] == ["acme"])
            #expect(own.isEmpty || properties?[property] == value)
        }
    }

    // MARK: Places

    @Test("RudderStack has the traits and the session in the context, and a channel")
    func rudderStackPlaces() throws {
        var login = Self.event(
            "$SignUp", ["$original_id": "a2", "$set": ["plan": "free"], "$session_id": .string(Self.session)])
        login.loginID = "u-1"
        let format = HTTPFormat.rudderStack(writeKey: "k")
        for event in [login, Self.event("$ProfileSet", ["$set": ["plan": "free"]])] {
            let record = try Self.record(event, format)
            #expect(record["type"] == "identify" && record["traits"] == nil)
            #expect(record["context"]?.object?["traits"] == ["plan": "free"])
            #expect(record["channel"] == (HTTPFormat.runsOnDevice ? "mobile" : "server"))
        }
        #expect(try Self.record(login, format)["context"]?.object?["sessionId"] == 1_767_228_410)
        let group = Self.event("$GroupIdentify", ["$group_type": "t", "$group_key": "g", "$group_set": ["n": 1]])
        let record = try Self.record(group, format)
        #expect(record["traits"] == ["n": 1, "groupType": "t"])
        #expect(record["context"]?.object?["sessionId"] == nil && record["context"]?.object?["instanceId"] == nil)
    }

    @Test("Segment's context has the device's id and the id of the instance, which is the same for all events")
    func segmentDeviceAndInstance() throws {
        let format = HTTPFormat.segment(writeKey: "k")
        let contexts = try [Event.anonymous, Self.event("x", ["$device_id": "d"]), .bare].map {
            try #require(try Self.record($0, format)["context"]?.object)
        }
        #expect(contexts[0]["device"] == ["id": "a2"] && contexts[1]["device"] == ["id": "d"])
        #expect(contexts[2]["device"] == nil)
        #expect(Set(contexts.map { $0["instanceId"] }).count == 1)
        #expect(contexts[0]["instanceId"]?.string.flatMap { EventID($0) } != nil)
    }

    @Test("OTLP describes the app, the system and the device as a resource, one for all equal events in a row")
    func otlpResources() throws {
        let device: Properties = [
            "$app_version": "2.4", "$app_build": "7", "$os_name": "Debian", "$os_version": "12",
            "$manufacturer": "Acme", "$model": "M1", "n": 1,
        ]
        var newer = device
        newer["$app_version"] = "2.5"
        let events = try [device, device, newer, [:]].map { try EventLine(Self.event("Seen", $0)) }
        var request = HTTPRequest(url: "https://h")
        try OTLPFormat(service: "shop").encode(Batch(id: 1, events: events), into: &request)
        let resources = try #require(
            try request.json.object?["resourceLogs"]?.array
        ).map { $0.object ?? [:] }
        let attributes = resources.map { resource in
            let pairs = resource["resource"]?.object?["attributes"]?.array ?? []
            return pairs.reduce(into: [String: PropertyValue]()) { result, pair in
                result[pair.object?["key"]?.string ?? ""] = pair.object?["value"]?.object?["stringValue"]
            }
        }
        let sdk: [String: PropertyValue] = [
            "service.name": "shop", "telemetry.sdk.name": "Sluice", "telemetry.sdk.language": "swift",
            "telemetry.sdk.version": .string(LibraryVersion.current),
        ]
        let app: [String: PropertyValue] = [
            "service.version": "2.4", "app.build_id": "7", "os.name": "Debian", "os.version": "12",
            "device.manufacturer": "Acme", "device.model.identifier": "M1",
        ]
        try #require(attributes.count == 3)
        #expect(attributes[0] == sdk.merging(app) { $1 })
        #expect(attributes[1]["service.version"] == "2.5" && attributes[2] == sdk)
        let records = resources.map { $0["scopeLogs"]?.array?.first?.object?["logRecords"]?.array ?? [] }
        #expect(records.map(\.count) == [2, 1, 1])
        let names = records[0].first?.object?["attributes"]?.array?.compactMap { $0.object?["key"]?.string }
        #expect(names == ["event.id", "distinct_id", "anonymous_id", "n"])
        let scope = resources[0]["scopeLogs"]?.array?.first?.object?["scope"]
        #expect(scope == ["name": "Sluice", "version": .string(LibraryVersion.current)])
    }

    @Test(
        "Segment's own hosts confirm a request with a success only",
        arguments: [
            ("https://api.segment.io/v1/batch", "", Fate.retry), ("https://api.segment.io/v1/batch", "OK", .retry),
            ("https://events.eu1.segmentapis.com/v1/batch", "{}", .retry),
            ("https://api.segment.io:443/v1/batch", #"{"success":true}"#, .accepted),
            ("https://API.SEGMENT.IO/v1/batch", #"{"message":"x"}"#, .retry),
            ("https://notsegment.io/v1/batch", "", .accepted), ("https://host/api.segment.io", "OK", .accepted),
            ("https://host/v1/batch", #"{"message":"x"}"#, .retry), ("https://host/v1/batch", "{}", .accepted),
        ])
    func segmentConfirms(url: String, body: String, fate: Fate) async throws {
        let transport = KeepingClient(responding: HTTPResponse(200, body)).transport(.segment(writeKey: "k"), to: url)
        #expect(try await transport.send(.allKinds()).fates(of: 1) == [fate])
    }
}
