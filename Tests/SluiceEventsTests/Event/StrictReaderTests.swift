import Sluice
import SluiceTesting
import Testing

/// Bytes that aren't exactly a canonical line are refused, and nothing makes the reader crash.
@Suite struct StrictReaderTests {
    private func read(_ bytes: some Collection<UInt8>, _ priority: Event.Priority = .normal) throws -> Event {
        try EventLine(bytes: ArraySlice(bytes), priority: priority).event()
    }

    private func expectRefusal(_ bytes: some Collection<UInt8>, _ priority: Event.Priority = .normal) {
        let error = #expect(throws: SluiceError.self) { try read(bytes, priority) }
        #expect(error?.code == .malformedLine)
    }

    static let id = #""id":"01234567-89ab-7def-8123-456789abcdef""#
    static let rest = #""event":"e","time":1,"properties":{}"#

    @Test(
        "bytes that aren't an event line are refused",
        arguments: [
            "", " ", "null", "1", "[]", "\"x\"", "{}", "{", "}", "{]", "nul",
            "{\(id)}", "{\(rest)}",
            "{\(id),\(rest)", "{\(id),\(rest)}}", "{\(id),\(rest)} {}", "{\(id),\(rest)},", "{\(id),\(rest),}",
            "{,\(id),\(rest)}", "{\(id),,\(rest)}", "{\(id) \(rest)}", "\u{FEFF}{\(id),\(rest)}", "{\(id),\(rest)}\0",
            "{\(id),\(id),\(rest)}", "{\(id),\(rest),\"login_id\":\"a\",\"login_id\":\"a\"}",
            "{\(id),\(rest),\"unknown\":}", "{\(id),\(rest),\"x\":1,\"x\":1}",
            "{\(id),\(rest),\"distinct_id\":1}", "{\(id),\(rest),\"login_id\":null}",
            "{\(id),\(rest),\"priority\":\"normal\"}", "{\(id),\(rest),\"priority\":\"critical\"}",
            "{\(id),\(rest),\"priority\":1}",
            #"{"id":"","event":"e","time":1,"properties":{}}"#, #"{"id":1,"event":"e","time":1,"properties":{}}"#,
            #"{"id":"01234567-89ab-7def-8123-456789abcde","event":"e","time":1,"properties":{}}"#,
            #"{"id":"01234567-89ab-7def-8123-456789abcdeg","event":"e","time":1,"properties":{}}"#,
            #"{"id":"0123456789ab7def8123456789abcdef","event":"e","time":1,"properties":{}}"#,
            #"{"id":"01234567089ab-7def-8123-456789abcdef","event":"e","time":1,"properties":{}}"#,
            "{\(id),\"event\":1,\"time\":1,\"properties\":{}}", "{\(id),\"event\":null,\"time\":1,\"properties\":{}}",
            "{\(id),\"event\":\"e\",\"time\":1.0,\"properties\":{}}",
            "{\(id),\"event\":\"e\",\"time\":\"1\",\"properties\":{}}",
            "{\(id),\"event\":\"e\",\"time\":9223372036854775808,\"properties\":{}}",
            "{\(id),\"event\":\"e\",\"time\":1,\"properties\":[]}",
            "{\(id),\"event\":\"e\",\"time\":1,\"properties\":null}",
            "{\(id),\"event\":\"e\",\"time\":1}", "{\(id),\"time\":1,\"properties\":{}}",
            "{\(id),\"event\":\"e\",\"properties\":{}}",
            "{\(id),'event':\"e\",\"time\":1,\"properties\":{}}", "{\(id),event:\"e\",\"time\":1,\"properties\":{}}",
        ])
    func otherBytesAreRefused(text: String) { expectRefusal(text.utf8) }

    @Test(
        "a property that isn't JSON is refused",
        arguments: [
            "", ",", "01", "-", "+1", "1.", ".5", "1e", "1e+", "0x1", "1_0", "- 1", "00", "-01", "1e400", "-1e400",
            "9223372036854775808", "-9223372036854775809", "NaN", "Infinity", "-Infinity", "nan", "True", "nulll",
            "tru", "undefined", "'x'", "\"", "\"x", "x\"", #""\x""#, #""\u12""#, #""\u12g4""#, #""\uD800""#,
            #""\uD800x""#, #""\uD800\n""#, #""\uD800\uD800""#, #""\uDC00""#, #""\uDC00\uD800""#, #""\"#, #""\u+123""#,
            "\"\n\"", "\"\t\"", "\"\0\"", "[", "]", "[1", "[1,", "[,1]", "[1,]", "[1 2]", "[1,,2]", "[1}", "{\"a\"}",
            "{\"a\":}", "{\"a\":1,}", "{1:1}", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "{\"a\":1,\"a\":1}",
            "{\"a\":1,\"\\u0061\":1}", "{null:1}", "1/*x*/", "//x\n1", "1 2", "[1]]", "{\"é\":1,\"e\u{301}\":1}",
            "{\"a\":[{\"é\":1,\"e\u{301}\":2}]}", "{\"é\":1,\"e\\u0301\":1}",
        ])
    func invalidPropertyJSONIsRefused(value: String) {
        expectRefusal("{\(Self.id),\"event\":\"e\",\"time\":1,\"properties\":{\"p\":\(value)}}".utf8)
        #expect(throws: SluiceError.self) { try JSONReader.value(of: value.utf8) }
    }

    @Test(
        "invalid UTF-8 is refused in values and names",
        arguments: [
            [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF],
            [0xE2, 0x82],
            [0xF0, 0x80, 0x80, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF5], [0xFF], [0xFE], [0xF0, 0x9F, 0x98], [0xC3],
        ] as [[UInt8]])
    func invalidUTF8IsRefused(bytes: [UInt8]) {
        let start = Array("{\(Self.id),\"event\":\"e\",\"time\":1,\"properties\":{\"".utf8)
        expectRefusal(start + Array("p\":\"".utf8) + bytes + Array("\"}}".utf8))
        expectRefusal(start + bytes + Array("\":1}}".utf8))
        // Half of a string that is read by copying, because of its escape.
        expectRefusal(start + Array("p\":\"\\n".utf8) + bytes + Array("\"}}".utf8))
    }

    @Test("a string that properties would truncate is refused", arguments: [0, 1])
    func overlongStringIsRefused(more: Int) throws {
        let string = String(repeating: "x", count: PropertyValue.maximumStringBytes + more)
        for (open, close) in [("", ""), ("[", "]"), ("{\"k\":[1,", "]}")] {
            let bytes = "{\(Self.id),\"event\":\"e\",\"time\":1,\"properties\":{\"p\":\(open)\"\(string)\"\(close)}}"
                .utf8
            if more > 0 { expectRefusal(bytes) } else { #expect(try EventLine(read(bytes)).bytes.elementsEqual(bytes)) }
        }
    }

    @Test("nesting below the allowed depth is refused", arguments: [33, 1_000, 1_000_000])
    func deeperNestingIsRefused(depth: Int) {
        for (open, close) in [("[", "]"), (#"{"k":"#, "}")] {
            let value = String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
            #expect(throws: SluiceError.self) { try JSONReader.value(of: value.utf8) }
            expectRefusal("{\(Self.id),\"event\":\"e\",\"time\":1,\"properties\":{\"p\":\(value)}}".utf8)
            // Unclosed: the reader must give up on the way down.
            expectRefusal(String(repeating: open, count: depth).utf8)
        }
    }

    @Test(
        "JSON with the same meaning is read",
        arguments: [
            " {\(id) ,\r\n\t\(rest) } ",
            "{\(rest),\(id)}",
            #"{"\u0069d":"01234567-89AB-7DEF-8123-456789ABCDEF","event":"e","time":1,"properties":{}}"#,
        ])
    func equivalentJSONIsRead(text: String) throws {
        #expect(try read(text.utf8) == read("{\(Self.id),\(Self.rest)}".utf8))
    }

    @Test(
        "keys that a later version may write are ignored, wherever they stand",
        arguments: ["1", "null", #""x\"y""#, "[1,[]]", #"{"event":"other","properties":{"priority":"critical"}}"#])
    func laterKeysAreIgnored(value: String) throws {
        let expected = try read("{\(Self.id),\(Self.rest)}".utf8)
        for text in ["{\(Self.id),\(Self.rest),\"later\":\(value)}", "{\(Self.id),\"later\":\(value),\(Self.rest)}"] {
            #expect(try read(text.utf8) == expected)
            let line = EventLine(bytes: ArraySlice(text.utf8), priority: .normal)
            #expect(try line.field("event") == "e")
            #expect(try line.field("time") == 1)
            #expect(try line.field("priority") == nil)
        }
    }

    @Test(
        "every form of JSON is read",
        arguments: [
            (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"), (#""\u00e9\u20AC""#, "é€"), (#""\uD83D\uDE00""#, "😀"),
            (#""\u0000""#, "\0"), ("-0", 0), ("-0.0", -0.0), ("1E2", 100.0), ("1e-400", 0.0),
            (#""2026-11-21T05:55:16.123\u005a""#, .date(Timestamp(milliseconds: 1_795_240_516_123))),
            (#""2026-11-21T05:55:16.123Z""#, "2026-11-21T05:55:16.123Z"),
            (#""2026-02-30T05:55:16.123\u005a""#, "2026-02-30T05:55:16.123Z"),
            (#""2026-11-21T05:55:16.123\u005a.""#, "2026-11-21T05:55:16.123Z."), ("[ ]", []), ("{ }", [:]),
        ] as [(String, PropertyValue)])
    func everyFormOfJSONIsRead(text: String, value: PropertyValue)
        throws
    {
        #expect(try JSONReader.value(of: text.utf8) == value)
    }

    @Test("a line truncated anywhere is refused", arguments: UInt64(1)...20)
    func truncatedLinesAreRefused(seed: UInt64) throws {
        var events = RandomEvents(seed: seed)
        let line = try EventLine(events.next())
        for count in 0..<line.bytes.count {
            expectRefusal(line.bytes.prefix(count), line.priority)
        }
    }

    @Test("random damage is refused or read, and never crashes", arguments: UInt64(1)...40)
    func randomDamageNeverCrashes(seed: UInt64) throws {
        var random = RandomEvents(seed: seed)
        for _ in 0..<250 {
            let line = try EventLine(random.next())
            var bytes = Array(line.bytes)
            for _ in 0...random.index(below: 3) {
                let index = random.index(below: bytes.count)
                switch random.index(below: 4) {
                case 0: bytes[index] = random.byte()
                case 1: bytes.insert(random.byte(), at: index)
                case 2: bytes.remove(at: index)
                default: bytes[index] ^= 1 << UInt8(random.index(below: 8))
                }
            }
            do {
                let event = try read(bytes, line.priority)
                // The event must be like any other: it can be written and read again.
                #expect(try EventLine(event).event() == event)
            } catch let error as SluiceError {
                #expect(error.code == .malformedLine)
            }
        }
    }

    @Test(
        "a line without an id in its place has a nil id",
        arguments: [
            "", "{", #"{"id":""#, #"{"id":"01234567-89ab-7def-8123-456789abcde"#,
            #"{"id" :"01234567-89ab-7def-8123-456789abcdef""#,
            #"{"id":"0123456789ab-7def-8123-456789abcdef-0""#,
        ])
    func lineWithoutIDHasNilID(text: String) {
        #expect(EventLine(bytes: Array(text.utf8)[...], priority: .normal).id == nil)
    }

    @Test("the id of a line inside a buffer is found")
    func idIsFoundInsideBuffer() throws {
        let buffer = Array("xxx{\(Self.id),\(Self.rest)}\nyyy".utf8)
        let line = EventLine(bytes: buffer[3..<buffer.count - 4], priority: .normal)
        #expect(line.id?.description == "01234567-89ab-7def-8123-456789abcdef")
        #expect(try line.event().id == line.id)
    }
}
