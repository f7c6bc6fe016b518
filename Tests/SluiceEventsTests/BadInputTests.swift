import Foundation
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

@testable import Sluice

/// The result of each bad input.
@Suite struct BadInputTests {
    /// One bad input.
    struct Input: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let track: @Sendable (Pipeline) -> Void
        let stored: Stored
        /// The sanitizations that the ledger counts, once each.
        let sanitized: [Sanitization]

        /// An event called `e` with these properties.
        init(
            _ description: String, _ stored: Stored, _ sanitized: Sanitization...,
            properties: @escaping @Sendable () -> Properties
        ) {
            testDescription = description
            track = { $0.track("e", properties()) }
            self.stored = stored
            self.sanitized = sanitized
        }

        /// An event that is wrong elsewhere.
        init(
            _ description: String, _ stored: Stored, _ sanitized: Sanitization...,
            track: @escaping @Sendable (Pipeline) -> Void
        ) {
            testDescription = description
            self.track = track
            self.stored = stored
            self.sanitized = sanitized
        }
    }

    enum Stored: Sendable {
        /// The event `e` with these properties, as the text of their JSON.
        case properties(String)
        /// Everything behind the id, as JSON.
        case line(String)
        /// No event at all: it is counted as dropped by the pipeline.
        case dropped(DropReason)
        /// No event at all: it is counted as dropped by the route.
        case refused(DropReason)
    }

    /// 2 or 100 MB, once for all.
    private static let huge = String(repeating: "x", count: Trials.count(full: 100_000_000, few: 2_000_000))

    static let nan = [
        Input("NaN", .properties(#"{"p":null}"#), .nonFiniteNumber) { ["p": .double(.nan)] },
        Input("signalling NaN", .properties(#"{"p":null}"#), .nonFiniteNumber) { ["p": .double(.signalingNaN)] },
        Input("infinities", .properties(#"{"p":null,"q":null}"#), .nonFiniteNumber) {
            ["p": .double(.infinity), "q": .double(-.infinity)]
        },
        Input("NaN in an array in an object", .properties(#"{"p":{"a":[1,null]}}"#), .nonFiniteNumber) {
            ["p": ["a": [1, .double(.nan)]]]
        },
        Input("NaN set later", .properties(#"{"p":null}"#), .nonFiniteNumber) {
            var properties: Properties = ["p": 1]
            properties["p"] = .double(.nan)
            return properties
        },
        Input("NaN appended to an array", .properties(#"{"p":[null]}"#), .nonFiniteNumber) {
            var array = PropertyArray([])
            array.append(.double(.nan))
            return ["p": .array(array)]
        },
        Input("an integer beyond 64 bits", .properties(#"{"p":1.8446744073709552e+19}"#)) { ["p": .int(UInt64.max)] },
    ]

    static let text = [
        Input("invalid UTF-8 in a value", .properties("{\"p\":\"a\u{FFFD}b\"}")) {
            ["p": .string(String(decoding: [0x61, 0xFF, 0x62], as: UTF8.self))]
        },
        Input("invalid UTF-8 in a property's name", .properties("{\"\u{FFFD}\":1}")) {
            [String(decoding: [0xC3], as: UTF8.self): 1]
        },
        Input("invalid UTF-8 in an event's name", .line("\"event\":\"\u{FFFD}\",\"time\":0,\"properties\":{}}")) {
            $0.track(String(decoding: [0x80], as: UTF8.self))
        },
        Input("half a surrogate pair", .properties("{\"p\":\"\u{FFFD}\"}")) {
            ["p": .string(String(decoding: [0xD83D] as [UInt16], as: UTF16.self))]
        },
        Input("NUL and newlines in a value", .properties(#"{"p":"\u0000\n\r\r\n\u0085\u2028"}"#.unescapedAbove1F)) {
            ["p": "\0\n\r\r\n\u{85}\u{2028}"]
        },
        Input("NUL and newlines in a property's name", .properties(#"{"\u0000\n\r\n":1}"#)) { ["\0\n\r\n": 1] },
        Input("NUL and newlines in an event's name", .line(#""event":"\u0000\n","time":0,"properties":{}}"#)) {
            $0.track("\0\n")
        },
        Input("every control character", .properties(#"{"p":"\u0001\b\t\n\u000b\f\r\u001b\u001f"}"#)) {
            ["p": "\u{1}\u{8}\t\n\u{B}\u{C}\r\u{1B}\u{1F}"]
        },
        Input("quotes and backslashes", .properties(#"{"\"\\":"\\\"}"}"#)) { [#""\"#: #"\"}"#] },
        Input(
            "newlines in ids",
            .line(
                #""event":"e","time":0,"distinct_id":"a\n","anonymous_id":"a\u0001","login_id":"a\"","properties":{}}"#)
        ) { pipeline in
            pipeline.track("e") { event in
                event.distinctID = "a\n"
                event.anonymousID = "a\u{1}"
                event.loginID = "a\""
            }
        },
    ]

    static let names = [
        Input("an empty event name", .dropped(.emptyName)) { $0.track("") },
        Input("an event name emptied on the way", .dropped(.emptyName)) { $0.track("e") { $0.name = "" } },
        Input("an empty property name", .properties(#"{"":1}"#)) { ["": 1] },
        Input(
            "names that are keys of the line",
            .properties(#"{"$os":"x","id":1,"time":2,"event":3,"properties":4,"priority":5,"distinct_id":6}"#)
        ) {
            ["$os": "x", "id": 1, "time": 2, "event": 3, "properties": 4, "priority": 5, "distinct_id": 6]
        },
        Input("a name twice in a literal", .properties(#"{"a":3,"b":2}"#), .droppedProperty) {
            ["a": 1, "b": 2, "a": 3]
        },
        Input("a name twice among many", .properties(manyNames), .droppedProperty) {
            Properties((0..<40).map { (String($0 % 20), .int($0)) })
        },
    ]

    private static let manyNames = "{" + (0..<20).map { "\"\($0)\":\($0 + 20)" }.joined(separator: ",") + "}"

    static let overlong = [
        Input(
            "an overlong event name",
            .line("\"event\":\"\(String(repeating: "é", count: 512))\",\"time\":0,\"properties\":{}}"),
            .truncatedName
        ) { $0.track(String(repeating: "é", count: 513)) },
        Input(
            "an event name that is cut within a character",
            .line("\"event\":\"a\(String(repeating: "😀", count: 255))\",\"time\":0,\"properties\":{}}"), .truncatedName
        ) { $0.track("a" + String(repeating: "😀", count: 256)) },
        Input(
            "the longest event name",
            .line("\"event\":\"\(String(repeating: "x", count: 1_024))\",\"time\":0,\"properties\":{}}")
        ) { $0.track(String(repeating: "x", count: 1_024)) },
        Input("an overlong property name", .properties(#"{"q":2}"#), .droppedProperty) {
            [String(repeating: "x", count: 1_025): 1, "q": 2]
        },
        Input("an overlong property name, set later", .properties("{}"), .droppedProperty) {
            var properties: Properties = [:]
            properties[String(repeating: "x", count: 1_025)] = 1
            return properties
        },
        Input("an overlong name deep below", .properties(#"{"p":[{}]}"#), .droppedProperty) {
            ["p": [[String(repeating: "x", count: 1_025): 1]]]
        },
        Input("overlong ids", .line(#""event":"e","time":0,"login_id":"l","properties":{}}"#), .droppedID) { pipeline in
            pipeline.track("e") { event in
                event.distinctID = String(repeating: "d", count: 256)
                event.anonymousID = huge
                event.loginID = "l"
            }
        },
        Input(
            "a string of many megabytes", .properties("{\"p\":\"\(String(repeating: "x", count: 65_536))\"}"),
            .truncatedString
        ) {
            ["p": .string(huge)]
        },
        Input(
            "a string that is cut within a character",
            .properties("{\"p\":\"x\(String(repeating: "€", count: 21_845))\"}"),
            .truncatedString
        ) {
            ["p": .string("x" + String(repeating: "€", count: 21_846))]
        },
        Input(
            "an event name of many megabytes",
            .line("\"event\":\"\(String(repeating: "x", count: 1_024))\",\"time\":0,\"properties\":{}}"),
            .truncatedName
        ) { $0.track(huge) },
        Input("a property name of many megabytes", .properties("{}"), .droppedProperty) {
            [huge: 1]
        },
    ]

    static let many = [
        Input(
            "10,000 properties", .properties("{" + (0..<10_000).map { "\"p\($0)\":\($0)" }.joined(separator: ",") + "}")
        ) {
            Properties((0..<10_000).map { ("p\($0)", .int($0)) })
        },
        Input("an event over the byte limit", .refused(.tooLarge)) {
            Properties((0..<16).map { ("p\($0)", .string(String(repeating: "x", count: 65_536))) })
        },
        Input("an array over the byte limit", .refused(.tooLarge)) {
            ["p": .array(PropertyArray(repeatElement(.null, count: 200_000)))]
        },
        Input("a string that is over the byte limit only once it is escaped", .refused(.tooLarge)) {
            Properties((0..<4).map { ("p\($0)", .string(String(repeating: "\0", count: 65_536))) })
        },
        Input("100,000 levels of arrays", .properties(nested(by: "[", "]")), .truncatedDepth) {
            ["p": (0..<100_000).reduce(1 as PropertyValue) { value, _ in [value] }]
        },
        Input("100,000 levels of objects", .properties(nested(by: #"{"k":"#, "}")), .truncatedDepth) {
            ["p": (0..<100_000).reduce(1 as PropertyValue) { value, _ in ["k": value] }]
        },
        Input("100,000 levels of properties set one by one", .properties(nested(by: #"{"k":"#, "}")), .truncatedDepth) {
            var value: PropertyValue = 1
            for _ in 0..<100_000 {
                var object = Properties()
                object["k"] = value
                value = .object(object)
            }
            return ["p": value]
        },
        Input(
            "several faults in one event", .properties(#"{"p":[null,null]}"#), .nonFiniteNumber, .unwritableDate,
            .droppedProperty
        ) {
            let moment = Timestamp(milliseconds: .max)
            return ["p": [.double(.nan), .date(moment)], String(repeating: "x", count: 2_000): 1]
        },
    ]

    /// One level is that of the properties themselves.
    private static func nested(by open: String, _ close: String) -> String {
        let levels = PropertyValue.maximumDepth - 1
        return "{\"p\":" + String(repeating: open, count: levels) + "null" + String(repeating: close, count: levels)
            + "}"
    }

    static let moments = [
        Input("a date after the year 9999", .properties(#"{"p":null}"#), .unwritableDate) {
            ["p": .date(Timestamp(milliseconds: 253_402_300_800_000))]
        },
        Input("dates beyond all years", .properties(#"{"p":[null,null]}"#), .unwritableDate) {
            ["p": [.date(Timestamp(milliseconds: .min)), .date(Timestamp(milliseconds: .max))]]
        },
        Input(
            "a time before the year 1", .line(#""event":"e","time":-62135596800000,"properties":{}}"#), .unwritableDate
        ) {
            $0.track("e") { $0.time = Timestamp(milliseconds: .min) }
        },
        Input(
            "a time after the year 9999", .line(#""event":"e","time":253402300799999,"properties":{}}"#),
            .unwritableDate
        ) {
            $0.track("e") { $0.time = Timestamp(milliseconds: .max) }
        },
    ]

    @Test(
        "bad input is stored, truncated or dropped, and counted by cause",
        arguments: nan + text + names + overlong + many + moments)
    func badInputIsSanitizedAndCounted(input: Input) throws {
        let store = MemoryStore()
        let time = VirtualTime(wallTime: Timestamp(milliseconds: 0))
        let pipeline = try Pipeline.with(in: store, environment: .virtual(time))
        pipeline.pauseDelivery()
        input.track(pipeline)

        let lines = try store.nextBatch(BatchSize(events: 10, bytes: .max))?.events ?? []
        let ledger = pipeline.ledger
        let route = try #require(ledger.routes.first)
        #expect(ledger.tracked == 1)
        #expect(ledger.isBalanced)
        #expect(ledger.sanitized == Dictionary(uniqueKeysWithValues: input.sanitized.map { ($0, 1) }))
        switch input.stored {
        case .properties(let text): try expect(lines, #""event":"e","time":0,"properties":"# + text + "}")
        case .line(let text): try expect(lines, text)
        case .dropped(let reason): #expect(lines.isEmpty && ledger.dropped == [reason: 1] && route.dropped.isEmpty)
        case .refused(let reason): #expect(lines.isEmpty && route.dropped == [reason: 1] && ledger.dropped.isEmpty)
        }

        // The next event passes after any of them.
        pipeline.track("after")
        #expect(pipeline.ledger.routes.first?.stored == lines.count + 1)
    }

    private func expect(_ lines: [EventLine], _ text: String) throws {
        try #require(lines.count == 1)
        let bytes = lines[0].bytes
        let prefix = #"{"id":"00000000-0000-7000-8000-000000000000","#.utf8.count
        #expect(String(decoding: bytes.dropFirst(prefix), as: UTF8.self) == text)
        #expect(bytes.allSatisfy { $0 >= 0x20 })
        #expect(try EventLine(lines[0].event()).bytes == bytes)
        #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(bytes)) }
    }
}

extension String {
    /// Only controls below U+0020 are escaped in a line; this puts the others in for their escapes.
    fileprivate var unescapedAbove1F: String {
        replacingOccurrences(of: #"\u0085"#, with: "\u{85}").replacingOccurrences(of: #"\u2028"#, with: "\u{2028}")
    }
}
