import SluiceTesting
import Testing

@testable import SluiceEvents

@Suite struct EventLineFieldTests {
    private func line(_ text: String) -> EventLine { EventLine(bytes: ArraySlice(text.utf8), priority: .normal) }
    private static let id = "019b7705-8c00-7000-8000-0000ffff0001"

    @Test("each field before the properties can be read alone, and no other", arguments: UInt64(1)...20)
    func fieldsAreRead(seed: UInt64) throws {
        var events = RandomEvents(seed: seed)
        for _ in 0..<50 {
            var event = events.next()
            event.properties.merge(["event": "other", "x": 1])
            let line = try EventLine(event)
            #expect(try line.field("event") == .string(event.name))
            #expect(try line.field("time") == .int(event.time.milliseconds))
            #expect(try line.field("priority") == (event.priority == .critical ? "critical" : nil))
            #expect(try line.field("distinct_id") == event.distinctID.map { .string($0) })
            #expect(try line.field("anonymous_id") == event.anonymousID.map { .string($0) })
            #expect(try line.field("login_id") == event.loginID.map { .string($0) })
            #expect(try line.field("x") == nil)
            #expect(try line.field("properties") == nil)
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

    @Test("a line with any one byte replaced, in the middle of other bytes, is read or throws, and not beyond its end")
    func replacedBytesAreRead() throws {
        let text = #"{"id":"\#(Self.id)","event":"A\"","time":1,"distinct_id":"d","properties":{"a":[1,{}]}}"#
        let bytes = Array(#""time":2}"#.utf8) + Array(text.utf8) + Array(#","login_id":"d","#.utf8)
        for place in 9..<9 + text.utf8.count {
            for byte in #""\{}[],:x0"#.utf8 {
                var changed = bytes
                changed[place] = byte
                let line = EventLine(bytes: changed[9..<9 + text.utf8.count], priority: .normal)
                do throws(SluiceError) {
                    #expect(try line.field("time") != .int(2))
                    #expect(try line.field("login_id") == nil)
                } catch {
                    #expect(error.code == .malformedLine)
                }
                _ = line.belongs(to: "d")
            }
        }
        let line = EventLine(bytes: bytes[9..<9 + text.utf8.count], priority: .normal)
        #expect(try line.field("time") == .int(1))
        #expect(line.belongs(to: "d"))
    }
}
