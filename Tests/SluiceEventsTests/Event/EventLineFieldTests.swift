import SluiceTesting
import Testing

@testable import SluiceEvents

@Suite struct EventLineFieldTests {
    private func line(_ text: String) -> EventLine { EventLine(bytes: ArraySlice(text.utf8), priority: .normal) }
    private static let id = "019b7705-8c00-7000-8000-0000ffff0001"

    @Test("each field before the properties can be read alone")
    func fieldsAreRead() throws {
        let event = Event(
            id: try #require(EventID(Self.id)), name: "A \"b\\\n\",{}é", time: Timestamp(milliseconds: -5),
            priority: .critical, distinctID: "d", anonymousID: "a", loginID: "a\\",
            properties: ["event": "other", "x": 1])
        let line = try EventLine(event)
        #expect(try line.field("id") == .string(Self.id))
        #expect(try line.field("event") == .string(event.name))
        #expect(try line.field("time") == -5)
        #expect(try line.field("priority") == "critical")
        #expect(try line.field("distinct_id") == "d")
        #expect(try line.field("anonymous_id") == "a")
        #expect(try line.field("login_id") == "a\\")
        #expect(try line.field("x") == nil)
        #expect(try line.field("properties") == nil)
    }

    @Test("random events have the same fields as when they are read as a whole")
    func fieldsAreThoseOfEvent() throws {
        var random = SeededRandom(seed: 11)
        for _ in 0..<500 {
            let name = String((0..<8).compactMap { _ in "\"\\{}:,a\u{1}é😀".randomElement(using: &random) })
            let event = Event(
                id: try #require(EventID(Self.id)), name: name, time: Timestamp(milliseconds: 7), distinctID: name + "x"
            )
            let line = try EventLine(event)
            #expect(try line.field("event") == .string(name))
            #expect(try line.field("distinct_id") == .string(name + "x"))
            #expect(try line.field("login_id") == nil)
        }
    }

    @Test("a line that doesn't begin as a canonical one throws, and every truncated line throws or lacks the field")
    func malformedLinesThrow() throws {
        for text in ["", "{", "{}", #"{"n":1}"#, #"{"id":"x","event":"A"}"#, #"{"id":"\#(Self.id)","#] {
            let error = #expect(throws: SluiceError.self) { try line(text).field("event") }
            #expect(error?.code == .malformedLine)
        }
        let whole = #"{"id":"\#(Self.id)","event":"A\"","time":1,"distinct_id":"d","properties":{}}"#
        for count in 0..<whole.utf8.count {
            let cut = EventLine(bytes: ArraySlice(whole.utf8.prefix(count)), priority: .normal)
            do throws(SluiceError) {
                let name = try cut.field("event")
                #expect(name == nil || name == "A\"")
                #expect([nil, "d"].contains(try cut.field("distinct_id")))
            } catch {
                #expect(error.code == .malformedLine)
            }
        }
    }
}
