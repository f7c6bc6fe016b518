import HTTPTestSupport
import Sluice
import TestSupport
import Testing

@testable import SluiceHTTP
@testable import SluiceVendors

extension ResponseTables {
    /// A response to a batch of three events, and the verdict on each of them.
    struct Row: Sendable, CustomTestStringConvertible {
        var format = ""
        let status: Int
        let headers: [(name: String, value: String)]
        let body: String
        let fates: [Fate]

        init(_ status: Int, headers: [(name: String, value: String)] = [], _ fate: Fate) {
            self.init(status, "", headers: headers, fate)
        }

        init(_ status: Int, _ body: String, headers: [(name: String, value: String)] = [], _ fates: Fate...) {
            (self.status, self.headers, self.body) = (status, headers, body)
            self.fates = fates.count == 1 ? Array(repeating: fates[0], count: 3) : fates
        }

        func of(_ format: String) -> Row {
            var copy = self
            copy.format = format
            return copy
        }

        var testDescription: String { "\(format) \(status) \(headers.map(\.value).joined()) \(body.prefix(90))" }

        func verdicts(isComplete: Bool = true) throws -> Verdicts {
            let response = HTTPResponse(
                status: status, headers: headers, body: Array(body.utf8), isComplete: isComplete)
            return try FormatSample.named(format).wire.verdicts(for: .allKinds(), from: response)
        }
    }
}

@Suite("Verdicts of each format", .serialized)
struct FormatVerdictTests {
    private typealias Row = ResponseTables.Row

    @Test("a documented response has these verdicts", arguments: ResponseTables.all)
    func documentedResponseHasVerdicts(row: ResponseTables.Row) throws {
        #expect(try row.verdicts().fates(of: 3) == row.fates)
    }

    @Test(
        "a member that is null is the same as a missing one, in each documented response", arguments: FormatSample.all)
    func nullIsAbsent(sample: FormatSample) throws {
        let rows = ResponseTables.all.filter { $0.format == sample.name }
        let objects = rows.map { HTTPResponse(status: 200, body: Array($0.body.utf8)).jsonObjects }
        // Each object gets all names that any object of the format's responses has.
        let names = Set(objects.joined().flatMap { PropertyValue.object($0).members.map(\.name) }).union(["unknown"])
        for (row, objects) in zip(rows, objects) where !objects.isEmpty {
            func fates(_ objects: PropertyValue) throws -> [Fate] {
                let body = objects.array?.map(\.text).joined() ?? ""
                return try Row(row.status, body, headers: row.headers, .retry).of(row.format).verdicts().fates(of: 3)
            }
            let body = PropertyValue.array(PropertyArray(objects.map { .object($0) }))
            #expect(try fates(body.adding(nullsFor: names)) == row.fates, "\(row.testDescription)")
            for (null, missing) in body.withoutOneMember {
                #expect(try fates(null) == fates(missing), "\(null.text)")
            }
        }
    }

    /// Formats whose backend returns a status only.
    static let takesAnySuccess: Set<String> = [
        "jsonArray", "ndjson", "fluentBit", "vector", "sensors", "segment", "telemetryDeck",
    ]

    @Test("an event that the backend names has the backend's own words")
    func namedEventHasWords() throws {
        let bodies = [
            (
                "elasticsearch",
                #"{"items":[{"create":{"status":201}},{"create":{"status":400,"error":{"type":"mapper","reason":"no date"}}},"#
                    + #"{"create":{"status":201}}]}"#, "mapper: no date"
            ),
            (
                "kafka",
                #"{"offsets":[{"partition":0,"offset":1},{"partition":0,"error_code":87,"error":"bad record"},"#
                    + #"{"partition":0,"offset":2}]}"#, "bad record"
            ),
            (
                "kafkaV3", #"{"error_code":200}{"error_code":40002,"message":"bad record"}{"error_code":200}"#,
                "bad record"
            ),
            // The words about this event, and not those about all.
            ("postHog", ResponseTables.results("ok", "drop", "retry"), #"{"result":"drop"}"#),
        ]
        for (name, body, words) in bodies {
            let sample = try #require(FormatSample.all.first { $0.name == name })
            let response = HTTPResponse(status: 200, body: Array(body.utf8))
            let each = try sample.wire.verdicts(for: .allKinds(), from: response).each
            #expect(each.map(\.response) == [nil, words, nil], "\(name)")
        }
    }

    @Test("an incomplete body is not an acceptance", arguments: ResponseTables.all.indices)
    func incompleteBodyIsNotAccepted(row: Int) throws {
        let row = ResponseTables.all[row]
        // These formats don't read the body of a success.
        guard !["loki", "datadog", "clickHouse"].contains(row.format), row.status / 100 == 2, !row.body.isEmpty,
            !Self.takesAnySuccess.contains(row.format) || row.format == "segment", row.format != "kafkaV3"
        else { return }
        // The results of smaller parts are shorter.
        let isElasticsearch = row.format == "elasticsearch" && row.status == 200
        // A body of another server.
        let isHeld = ["googleAnalytics", "snowplow"].contains(row.format)
        let fate: Fate = isElasticsearch ? .tooLarge : isHeld ? .hold : .retry
        #expect(try Set(row.verdicts(isComplete: false).fates(of: 3)) == [fate])
    }

    @Test("Retry-After is used", arguments: FormatSample.all)
    func retryAfterIsUsed(sample: FormatSample) throws {
        let headers = [(name: "Retry-After", value: "7")]
        for status in [429, 503] {
            let response = HTTPResponse(status: status, headers: headers)
            let verdicts = try sample.wire.verdicts(for: .allKinds(), from: response)
            #expect(verdicts == .all(.retry(after: .seconds(7))))
        }
    }

    @Test("Loki's blocked ingestion is distinguished from an unrecognized response")
    func lokiBlockedIsNotUnrecognized() throws {
        let reasons = try [260, 200].map { "\(try Row($0, .hold).of("loki").verdicts())" }
        #expect(reasons[0].contains("260") && !reasons[1].contains("260"))
    }

    @Test("an event's own status and words stay when the response explains its retry")
    func explainedRetryKeepsStatus() throws {
        for (format, body, statuses) in [
            ("elasticsearch", ResponseTables.items(201, 429, 503), [nil, 429, 503]),
            (
                "kafkaV3",
                ResponseTables.report + #"{"error_code":429,"message":"m"}{"error_code":50003,"message":"m"}"#,
                [nil, 429, 500]
            ),
        ] {
            let verdicts = try Row(200, body, .retry).of(format).verdicts()
            let after = verdicts.explained(by: HTTPResponse(status: 200)).each
            #expect(after.map(\.status) == statuses, "\(format)")
            #expect(after.map(\.response) == verdicts.each.map(\.response), "\(format)")
            #expect(after.last?.reason.isEmpty == false, "\(format)")
        }
    }

    /// Responses that throttle single events, and the seconds after which each event is sent again.
    static let waits: [(format: String, body: String, retryAfter: String?, seconds: [Int?])] = [
        ("elasticsearch", ResponseTables.items(201, 429, 503), "7", [nil, 7, 7]),
        ("kafka", ResponseTables.offsets(ResponseTables.taken, #"{"error_code":2}"#, "{}"), "7", [nil, 7, 7]),
        ("kafkaV3", ResponseTables.report + #"{"error_code":429}{"error_code":200}"#, "7", [nil, 7, nil]),
        ("postHog", ResponseTables.results("ok", "retry", "drop"), "7", [nil, 7, nil]),
        ("amplitude", #"{"throttled_events":[1]}"#, nil, [0, 30, 0]),
        ("amplitude", #"{"throttled_events":[0]}"#, "7", [7, 0, 0]),
        // The events of `Batch.allKinds()`: of u/1 and a1, of its own id as a device, and of a2.
        ("amplitude", #"{"throttled_users":{"u/1":12}}"#, nil, [30, 0, 0]),
        ("amplitude", #"{"throttled_devices":{"a2":9,"x":1},"throttled_events":[1]}"#, nil, [0, 30, 30]),
        ("amplitude", #"{"throttled_events":[0,1],"exceeded_daily_quota_users":{"u/1":1}}"#, nil, [30, 30, 0]),
        ("amplitude", #"{"exceeded_daily_quota_devices":{"a2":2}}"#, nil, [0, 0, 3_600]),
        (
            "amplitude",
            #"{"exceeded_daily_quota_users":{"u/1":1},"exceeded_daily_quota_devices":{"a2":2,"\#(Event.bare.id)":3}}"#,
            nil, [3_600, 3_600, 3_600]
        ),
    ]

    @Test("a result for a single event delays no other event", arguments: waits)
    func throttledEventsDelayNoOthers(
        row: (format: String, body: String, retryAfter: String?, seconds: [Int?])
    ) throws {
        let headers = row.retryAfter.map { [(name: "Retry-After", value: $0)] } ?? []
        let status = row.format == "amplitude" ? 429 : 200
        let each = try Row(status, row.body, headers: headers, .retry).of(row.format).verdicts().each
        let waits = each.map { verdict -> Duration? in if case .retry(let after) = verdict.kind { after } else { nil } }
        #expect(waits == row.seconds.map { $0.map { .seconds($0) } })
    }

    @Test(
        "a throttling of other events or of nothing delays all events",
        arguments: [
            "", "{}", #"{"throttled_users":{"another":1}}"#, #"{"throttled_events":[]}"#, #"{"throttled_events":[3]}"#,
            #"{"throttled_events":1.5}"#,
        ])
    func otherThrottlingIsOfAll(body: String) throws {
        #expect(try Row(429, body, .retry).of("amplitude").verdicts() == .all(.retry(after: nil)))
    }
}

extension PropertyValue {
    /// The value with a null for a member, and without that member: for each member at any depth.
    fileprivate var withoutOneMember: [(null: PropertyValue, missing: PropertyValue)] {
        switch self {
        case .object(let object):
            object.flatMap { property in
                func replacing(_ value: PropertyValue?) -> PropertyValue {
                    var copy = object
                    copy[property.name] = value
                    return .object(copy)
                }
                let inner = property.value.withoutOneMember.map { (replacing($0.null), replacing($0.missing)) }
                return [(replacing(.null), replacing(nil))] + inner
            }
        case .array(let array):
            array.indices.flatMap { index in
                func replacing(_ value: PropertyValue) -> PropertyValue {
                    .array(PropertyArray(array.prefix(index) + [value] + array.dropFirst(index + 1)))
                }
                return array[index].withoutOneMember.map { (replacing($0.null), replacing($0.missing)) }
            }
        default: []
        }
    }

    /// The value with a null in every object for each of the names that it doesn't have.
    fileprivate func adding(nullsFor names: Set<String>) -> PropertyValue {
        switch self {
        case .object(let object):
            var result = Properties(object.map { ($0.name, $0.value.adding(nullsFor: names)) })
            result.addDefaults(Properties(names.map { ($0, .null) }))
            return .object(result)
        case .array(let array): return .array(PropertyArray(array.map { $0.adding(nullsFor: names) }))
        default: return self
        }
    }
}
