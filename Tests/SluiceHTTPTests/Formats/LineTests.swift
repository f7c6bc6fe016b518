import Foundation
import HTTPTestSupport
import Sluice
import TestSupport
import Testing

@testable import SluiceHTTP

@Suite("Formats that copy stored lines")
struct LineTests {
    private static let date = PropertyValue.date(Timestamp(milliseconds: 1_767_225_600_123))

    private static func line(_ properties: Properties, time: Int64 = 1_767_225_600_123) throws -> EventLine {
        var event = Event.anonymous
        event.name = #"\u005a" Z\"#
        event.time = Timestamp(milliseconds: time)
        event.properties = properties
        return try EventLine(event)
    }

    private static func body(_ name: String, _ lines: EventLine...) throws -> String {
        String(decoding: try FormatSample.open.named(name).request(Batch(id: 1, events: lines)).body, as: UTF8.self)
    }

    @Test(
        "a date ends with a plain Z, which databases read",
        arguments: [
            "jsonArray", "ndjson", "fluentBit", "vector", "clickHouse", "clickHouseLegacy", "elasticsearch", "loki",
            "kafka",
            "kafkaV3",
        ])
    func datesArePlain(name: String) throws {
        let line = try Self.line(["at": Self.date, "dates": [Self.date, ["in": Self.date]]])
        #expect(String(decoding: line.bytes, as: UTF8.self).contains(#"00.123\u005a""#))
        let quote = name == "loki" ? #"\""# : "\""
        let body = try Self.body(name, line)
        let count = body.components(separatedBy: "2026-01-01T00:00:00.123Z" + quote).count - 1
        #expect(count == (name == "elasticsearch" ? 4 : 3))
    }

    @Test("a text that looks like the store's mark for dates stays as it is")
    func similarTextIsKept() throws {
        for text in [#"\u005a"#, #"2026-01-01T00:00:00.123\u005a"#, #"\\u005a"#, #"x\"#, "Z"] {
            let line = try Self.line(["a": .string(text), "at": Self.date, "b": .string(text)])
            let properties = try PropertyValue(json: line.json).object?["properties"]?.object
            #expect(properties?["a"] == .string(text) && properties?["b"] == .string(text))
            #expect(try PropertyValue(json: line.json).object?["event"] == .string(#"\u005a" Z\"#))
        }
    }

    @Test("a line without a date isn't copied, and a broken one is left as it is")
    func otherLinesAreKept() throws {
        let line = try Self.line(["n": 1])
        #expect(line.json == line.bytes)
        for text in ["", #"\"#, #"{"a":"\u005a"#, #"\u005a""#] {
            let broken = EventLine(bytes: ArraySlice(text.utf8), priority: .normal)
            #expect(broken.json.count == (text == #"\u005a""# ? 2 : text.utf8.count))
        }
    }

    @Test("a line is the same in a body as alone")
    func linesInBodyAreUnchanged() throws {
        let broken = [#"{"a":"\u005a"#, #"\u005a""#, #"\"#].map {
            EventLine(bytes: ArraySlice($0.utf8), priority: .normal)
        }
        let lines = try [
            Self.line(["at": Self.date]), Self.line(["n": 1]), Self.line(["x": Self.date, "at": Self.date]),
        ]
        for events in [lines + broken, broken + lines, lines, broken, [lines[1]]] {
            let batch = Batch(id: 1, events: events)
            #expect(batch.lines() == events.flatMap { $0.json + [UInt8(ascii: "\n")] })
            let prefixed = batch.lines(after: "[", eachWith: ",")
            #expect(prefixed == [UInt8(ascii: "[")] + events.flatMap { $0.json + [UInt8(ascii: ",")] })
        }
    }

    @Test(
        "ClickHouse reads the time as milliseconds: a plain number would be seconds to versions from 26.8 on",
        arguments: [
            (1_767_225_600_123, "1767225600123"), (1_000_000_000_000, "1000000000000"),
            (999_999_999_999, "2001-09-09T01:46:39.999Z"), (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"), (9_999_999_999_999, "9999999999999"),
            (10_000_000_000_000, "2286-11-20T17:46:40.000Z"),
        ] as [(Int64, String)])
    func clickHouseTimeIsQuoted(time: Int64, text: String) throws {
        let line = try Self.line(["time": 5], time: time)
        let body = try Self.body("clickHouse", line)
        #expect(body.contains(#","time":"\#(text)","#))
        #expect(body.hasSuffix("\"properties\":{\"time\":5}}\n"))
        #expect(try Self.body("clickHouseLegacy", line).contains(#","time":\#(time),"#))
    }
}
