import Foundation
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceEvents

/// Lines can be read by this package and by any other JSON reader.
@Suite struct EventLineTests {
    static let seeds = Array(UInt64(1)...40)
    static let eventsPerSeed = 100

    @Test("a line decodes to the event that it was encoded from", arguments: seeds)
    func lineDecodesToItsEvent(seed: UInt64) throws {
        var events = RandomEvents(seed: seed)
        for _ in 0..<Self.eventsPerSeed {
            let event = events.next()
            let line = try EventLine(event)
            let copy = try line.event()
            #expect(copy == event)
            // Strings and doubles can be equal and yet differ: by normalization, and by the sign of zero.
            #expect(try EventLine(copy).bytes == line.bytes)
            #expect(line.id == event.id)
            #expect(line.bytes.allSatisfy { $0 >= 0x20 }, "a newline or another control character")
        }
    }

    @Test("every allowed depth is written and read", arguments: 0...31)
    func everyAllowedDepthIsWrittenAndRead(depth: Int) throws {
        var events = RandomEvents(seed: UInt64(depth))
        var event = events.next()
        let value = events.nested(depth: depth)
        event.properties["nested"] = value
        let copy = try EventLine(event).event()
        #expect(copy == event)
        #expect(copy.properties["nested"] == value)
    }

    @Test("a line is made from the bytes of any collection that a store has kept them in")
    func anyBytesAreALine() throws {
        let line = try EventLine(.named("Event", ["a": 1]))
        let kept: [any Collection<UInt8>] = [
            Array(line.bytes), Data(line.bytes), ContiguousArray(line.bytes),
        ]
        #expect(EventLine(bytes: kept[0], priority: .critical).priority == .critical)
        for bytes in kept.prefix(3) { #expect(EventLine(bytes: bytes, priority: .normal).bytes == line.bytes) }
        #expect(try EventLine(bytes: Data(line.bytes), priority: .normal).event() == line.event())
    }

    @Test("a line that is kept stays as it is when its buffer is reused")
    func reusedBufferLeavesLines() throws {
        var events = RandomEvents(seed: 7)
        var buffer: [UInt8] = []
        var kept: [(line: EventLine, copy: [UInt8])] = []
        for number in 0..<1_000 {
            let event = events.next()
            let line = try EventLine(event, limit: .max, reusing: &buffer)
            #expect(try line.bytes == EventLine(event).bytes)
            // The copy has a buffer of its own.
            if number % 3 == 0 { kept.append((line, line.bytes.map { $0 })) }
            guard number % 5 == 0 else { continue }
            for limit in [50, 0, -1, .min] {
                #expect(throws: SluiceError.self) { try EventLine(event, limit: limit, reusing: &buffer) }
            }
        }
        for (line, copy) in kept { #expect(line.bytes.elementsEqual(copy)) }
    }

    @Test("the buffer of a line that nobody keeps is used for the next one")
    func bufferIsReused() throws {
        var events = RandomEvents(seed: 7)
        let event = events.next()
        var buffer: [UInt8] = []
        let addresses = try (0..<3).map { _ in
            try EventLine(event, limit: .max, reusing: &buffer).bytes.withUnsafeBufferPointer { $0.baseAddress }
        }
        #expect(Set(addresses).count == 1)
        #expect(buffer.capacity > 0)
    }

    @Test("another JSON reader finds the same values", arguments: seeds)
    func anotherJSONReaderFindsSameValues(seed: UInt64) throws {
        // Foundation takes U+FEFF for a byte order mark even inside a document, and loses it.
        var events = RandomEvents(seed: seed, hasByteOrderMarks: false)
        for _ in 0..<Self.eventsPerSeed {
            let event = events.next()
            let line = try EventLine(event)
            let json = try JSONSerialization.jsonObject(with: Data(line.bytes))
            let fields = try #require(json as? [String: Any])
            #expect(fields["id"] as? String == event.id.description)
            #expect(isSame(fields["event"], PropertyValue.string(event.name)))
            #expect(isSame(fields["time"], PropertyValue.int(event.time.milliseconds)))
            #expect(fields["priority"] as? String == (event.priority == .critical ? "critical" : nil))
            #expect(isSame(fields["distinct_id"], event.distinctID.map { .string($0) }))
            #expect(isSame(fields["anonymous_id"], event.anonymousID.map { .string($0) }))
            #expect(isSame(fields["login_id"], event.loginID.map { .string($0) }))
            #expect(isSame(fields["properties"], PropertyValue.object(event.properties)))
        }
    }

    private func isSame(_ json: Any?, _ value: PropertyValue?) -> Bool {
        switch value {
        case nil: return json == nil
        case .null: return json is NSNull
        case .string(let string): return (json as? String)?.unicodeScalars.elementsEqual(string.unicodeScalars) == true
        case .int(let int): return (json as? NSNumber)?.int64Value == int
        case .double(let double):
            // Foundation reads many doubles by way of a Decimal, which errs in the last places.
            guard let number = (json as? NSNumber)?.doubleValue else { return false }
            return abs(number - double) <= abs(double) * 1e-14
        case .bool(let bool): return json as? Bool == bool
        case .date(let date): return json as? String == date.description
        case .array(let array):
            guard let json = json as? [Any], json.count == array.count else { return false }
            return zip(json, array).allSatisfy { isSame($0, $1) }
        case .object(let object):
            guard let json = json as? [String: Any], json.count == object.count else { return false }
            return object.allSatisfy { isSame(json[$0.name], $0.value) }
        }
    }

    @Test("a line has the documented form")
    func lineHasDocumentedForm() throws {
        let id = EventID(high: 0x0123_4567_89AB_7DEF, low: 0x8123_4567_89AB_CDEF)
        let event = Event(
            id: id, name: "Purchase", time: Timestamp(milliseconds: 1_795_240_516_123), priority: .critical,
            distinctID: "d", anonymousID: "a", loginID: "l",
            properties: [
                "amount": 12.5, "whole": 3.0, "count": 3, "ok": true, "none": nil, "list": [1, "x"],
                "object": ["k": "v"],
                "at": .date(Timestamp(milliseconds: 1_795_240_516_123)), "text": "2026-11-21T05:55:16.123Z",
            ])
        let expected =
            #"{"id":"01234567-89ab-7def-8123-456789abcdef","event":"Purchase","time":1795240516123,"#
            + #""priority":"critical","distinct_id":"d","anonymous_id":"a","login_id":"l","properties":{"#
            + #""amount":12.5,"whole":3.0,"count":3,"ok":true,"none":null,"list":[1,"x"],"object":{"k":"v"},"#
            + #""at":"2026-11-21T05:55:16.123\u005a","text":"2026-11-21T05:55:16.123Z"}}"#
        #expect(String(decoding: try EventLine(event).bytes, as: UTF8.self) == expected)
    }

    @Test("a limit refuses the line that is one byte longer")
    func limitRefusesLongerLine() throws {
        var events = RandomEvents(seed: 7)
        for _ in 0..<200 {
            let event = events.next()
            let size = try EventLine(event).bytes.count
            #expect(try EventLine(event, limit: size).bytes.count == size)
            let error = #expect(throws: SluiceError.self) { try EventLine(event, limit: size - 1) }
            #expect(error?.code == .eventTooLarge)
        }
    }
}
