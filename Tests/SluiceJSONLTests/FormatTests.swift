import CSluiceJSONL
import Sluice
import Testing

@testable import SluiceJSONL

struct FormatTests {
    @Test(
        "the checksum is CRC-32C",
        arguments: [
            ("", 0), ("a", 0xC1D0_4330), ("123456789", 0xE306_9283),
            (String(repeating: "\0", count: 32), 0x8A91_36AA),
        ] as [(String, UInt32)])
    func checksumIsCRC32C(text: String, expected: UInt32) {
        let bytes = Array(text.utf8)
        #expect(Checksum.of(bytes[...]) == expected)
        #expect(sluice_crc32c_by_table(bytes, bytes.count) == expected)
    }

    @Test("the processor's instructions and the table agree for every length and alignment")
    func instructionsAndTableAgree() {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<1_200).map { _ in UInt8.random(in: 0...255, using: &generator) }
        for start in 0..<9 {
            for end in start...bytes.count {
                let slice = bytes[start..<end]
                let byTable = slice.withUnsafeBytes { sluice_crc32c_by_table($0.baseAddress, $0.count) }
                let inOnePart = slice.withUnsafeBytes { sluice_crc32c_in_one_part($0.baseAddress, $0.count) }
                #expect(Checksum.of(slice) == byTable)
                #expect(inOnePart == byTable)
            }
        }
    }

    /// An event with its checksum and the newline.
    private func stored(_ event: ArraySlice<UInt8>) -> [UInt8] {
        var line = [UInt8](repeating: 0, count: event.count + LineFormat.overhead)
        line.withUnsafeMutableBytes { LineFormat.write(event, checksum: Checksum.of(event), to: $0) }
        return line
    }

    @Test("a line that can't be stored is damage, also with a right checksum", arguments: ["{}", #"{"a":1}"#])
    func unstorableLineIsDamage(text: String) {
        let line = Array(text.utf8)[...]
        var stored = stored(line)
        let events = LineFormat.events(in: &stored, seed: 0)
        #expect(events.places.map(\.event) == (text == "{}" ? [] : [line.indices]))
        #expect(events.damaged == 1 - events.places.count)
        #expect(LineFormat.canStore(line) == !events.places.isEmpty)
    }

    @Test("a change of any bit damages a line but not the next one, and an empty line is no damage")
    func everyBitCounts() {
        // With another bit, the asterisk is a newline.
        let event = Array(#"{"a":"b*d"}"#.utf8)[...]
        let line = stored(event)
        let second = line.count + 1..<line.count + 1 + event.count
        for place in line.indices.dropLast() {
            for bit in 0..<8 {
                var changed = line
                changed[place] ^= 1 << bit
                // A newline makes two damaged lines of one.
                let damaged = changed[place] == LineFormat.newline ? 2 : 1
                var file = changed + [LineFormat.newline] + line
                let events = LineFormat.events(in: &file, seed: 0)
                #expect(events.places.map(\.event) == [second])
                #expect(events.damaged == damaged)
            }
        }
        var file = line + [LineFormat.newline] + line + line.dropLast()
        let events = LineFormat.events(in: &file, seed: 0)
        #expect(events.places.map(\.event) == [event.indices, second])
        #expect(events.damaged == 1, "the torn line")
        #expect(events.places.allSatisfy { file[$0.event] == event })
    }

    @Test(
        "a line that newlines follow is damage if it is torn anywhere, and no text of another program is",
        arguments: [#"{"a":"b"}"#, #"{"a":{"b":{"c":"}"}},"d":[{},{}]}"#, #"{"sealed":"YWJj"}"#])
    func tornLinesAreDamage(text: String) {
        let event = Array(text.utf8)[...]
        let line = stored(event)
        for length in 2..<line.count - 1 {
            var torn = Array(line[..<length]) + [LineFormat.newline, LineFormat.newline]
            #expect(LineFormat.events(in: &torn, seed: 1).damaged == 1, "torn behind \(length) bytes")
        }
        var foreign =
            Array(event) + Array("\nx\n\t\u{1B}[1m\u{E9}\r\n{\n  \"a\": 1\n}\n\"\n{\"ts\":1,\"msg\":\"{\"}\n".utf8)
        let found = LineFormat.events(in: &foreign, seed: 1)
        #expect(found.damaged == 0 && found.places.isEmpty)
    }

    @Test(
        "a segment's name is read as it was written",
        arguments: [
            SegmentName(.normal, sequence: 0, created: Timestamp(milliseconds: 0)),
            SegmentName(.critical, sequence: .max >> 1, created: Timestamp(milliseconds: 1_800_000_000_000)),
            SegmentName(.normal, sequence: 0xABC, created: Timestamp(milliseconds: -5)),
        ])
    func segmentNameIsReadAsWritten(name: SegmentName) {
        #expect(SegmentName(name.text) == name)
    }

    @Test(
        "a name of any other shape is foreign",
        arguments: [
            "", ".jsonl", "normal-0-1.jsonl", "normal-0000000000000000-1.json", "normal-0000000000000000-.jsonl",
            "normal-0000000000000000-01.jsonl", "normal-0000000000000000--1.jsonl", "urgent-0000000000000000-1.jsonl",
            "normal-000000000000000A-1.jsonl", "normal-ffffffffffffffff-1.jsonl", "normal-0000000000000000-1-v2.jsonl",
            "normal-0000000000000000-99999999999999999999.jsonl", "normal-+000000000000000-1.jsonl",
        ])
    func otherNamesAreForeign(text: String) {
        #expect(SegmentName(text) == nil)
    }

    @Test("base64 round-trips every length")
    func base64RoundTripsEveryLength() {
        for count in 0..<70 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 73) }
            let text = Base64.encode(bytes)
            #expect(text.count == (count + 2) / 3 * 4)
            #expect(Base64.decode(text[...]) == bytes)
        }
        #expect(Base64.decode(Array("TWF".utf8)[...]) == nil)
        #expect(Base64.decode(Array("TW\u{7F}u".utf8)[...]) == nil)
    }
}
