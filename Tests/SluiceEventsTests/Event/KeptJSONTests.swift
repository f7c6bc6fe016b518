import SluiceTesting
import Testing

@testable import SluiceEvents

/// The properties of a line that was read keep its JSON. Nothing may show that it is copied instead of written.
@Suite struct KeptJSONTests {
    /// The same properties without kept JSON.
    private func encoded(_ properties: Properties) -> Properties { Properties(properties.map { ($0.name, $0.value) }) }

    private func text(_ properties: Properties, without names: NameSet? = nil, marksDates: Bool) -> String {
        var writer = JSONWriter(marksDates: marksDates)
        writer.object(properties, without: names)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private func read(_ properties: String) throws -> Properties {
        let line = #"{"id":"01234567-89ab-7def-8123-456789abcdef","event":"e","time":1,"properties":\#(properties)}"#
        return try EventLine(bytes: Array(line.utf8), priority: .normal).event().properties
    }

    @Test("the properties of a line are written as if they had been set one by one", arguments: UInt64(1)...20)
    func readPropertiesAreWrittenAsSet(seed: UInt64) throws {
        var events = RandomEvents(seed: seed)
        for _ in 0..<100 {
            let read = try EventLine(events.next()).event().properties
            #expect((read.storage.block == nil) == read.isEmpty)
            let names = NameSet(read.map(\.name).filter { _ in events.index(below: 2) == 0 })
            for marksDates in [true, false] {
                #expect(text(read, marksDates: marksDates) == text(encoded(read), marksDates: marksDates))
                var rest = encoded(read)
                rest.removeAll { names.contains($0.name) }
                #expect(text(read, without: names, marksDates: marksDates) == text(rest, marksDates: marksDates))
                #expect(
                    text(encoded(read), without: names, marksDates: marksDates) == text(rest, marksDates: marksDates))
            }
        }
    }

    @Test("a change of read properties is written, and leaves other copies as they are", arguments: UInt64(1)...20)
    func changesAreWritten(seed: UInt64) throws {
        var (events, source) = (RandomEvents(seed: seed), PropertySource(seed: seed))
        for _ in 0..<50 {
            let read = try EventLine(events.next()).event().properties
            var (kept, plain) = (read, encoded(read))
            let before = text(read, marksDates: true)
            for _ in 0..<4 {
                let name = read.isEmpty || source.number(below: 2) == 0 ? source.name() : read[0].name
                let value: PropertyValue? = source.number(below: 3) == 0 ? nil : source.value()
                if source.number(below: 2) == 0 {
                    (kept[name], plain[name]) = (value, value)
                } else {
                    kept.addDefaults([name: value ?? .null])
                    plain.addDefaults([name: value ?? .null])
                }
                #expect(text(kept, marksDates: false) == text(plain, marksDates: false))
            }
            #expect(text(read, marksDates: true) == before)
        }
    }

    @Test(
        "properties in another form than Sluice's are written in its own",
        arguments: [
            (#"{ "a":1}"#, #"{"a":1}"#), (#"{"a" :1}"#, #"{"a":1}"#), ("{\"a\":\n1}", #"{"a":1}"#),
            (#"{"a":1 ,"b":2}"#, #"{"a":1,"b":2}"#), (#"{"a":[1, 2]}"#, #"{"a":[1,2]}"#), (#"{"a":{} }"#, #"{"a":{}}"#),
            (#"{"a":-0}"#, #"{"a":0}"#), (#"{"a":1.50}"#, #"{"a":1.5}"#), (#"{"a":1e2}"#, #"{"a":100.0}"#),
            (#"{"a":1E22}"#, #"{"a":1e+22}"#), (#"{"a":0.00001}"#, #"{"a":1e-05}"#),
            (#"{"a":0.1000000000000000055}"#, #"{"a":0.1}"#),
            (#"{"a":9007199254740993.0}"#, #"{"a":9007199254740992.0}"#),
            (#"{"\u0061":1}"#, #"{"a":1}"#), (#"{"a":"\/"}"#, #"{"a":"/"}"#), (#"{"a":"\u00e9"}"#, #"{"a":"é"}"#),
            (#"{"a":"\u001F"}"#, #"{"a":"\u001f"}"#), (#"{"a":"\u000a"}"#, #"{"a":"\n"}"#),
            (#"{"a":"\ud83d\ude00"}"#, #"{"a":"😀"}"#), (#"{"a":"\u005a"}"#, #"{"a":"Z"}"#),
        ])
    func otherFormsAreRewritten(json: String, expected: String) throws {
        #expect(try text(read(json), marksDates: true) == expected)
        #expect(try text(read(json), marksDates: false) == expected)
    }

    @Test("a date is marked for a store, and plain for a receiver, in a list and an object, too")
    func datesAreMarkedForStoresOnly() throws {
        let date = #""2026-11-21T05:55:16.123\u005a""#
        let json = #"{"a":\#(date),"b":[\#(date)],"c":{"d":\#(date)},"e":"x"}"#
        let properties = try read(json)
        #expect(text(properties, marksDates: true) == json)
        #expect(text(properties, marksDates: false) == json.replacing(#"\u005a"#, with: "Z"))
    }

    @Test("names in a set are found in each spelling, and no others are")
    func namesOfSetAreFound() {
        let names: NameSet = ["$lib", "caf\u{E9}", ""]
        for name in ["$lib", "caf\u{E9}", "cafe\u{301}", ""] { #expect(names.contains(name)) }
        for name in ["$Lib", "$lib_version", "cafe", "\u{301}", " "] { #expect(!names.contains(name)) }
        #expect((["K"] as NameSet).contains("\u{212A}") && (["\u{212A}"] as NameSet).contains("K"))
    }
}
