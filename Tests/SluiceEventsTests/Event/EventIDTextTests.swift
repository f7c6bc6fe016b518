import Sluice
import SluiceTesting
import Testing

@Suite struct EventIDTextTests {
    @Test("text reads back in either case", arguments: UInt64(1)...20)
    func textReadsBackInEitherCase(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<500 {
            let id = EventID(high: random.next(), low: random.next())
            #expect(id.description.utf8.count == EventID.textLength)
            #expect(EventID(id.description) == id)
            #expect(EventID(id.description.uppercased()) == id)
            let other = EventID(high: id.high, low: random.next())
            #expect((id < other) == (id.description < other.description))
        }
    }

    @Test(
        "other text is refused",
        arguments: [
            "", "0", "01234567-89ab-7def-8123-456789abcdef0", "01234567-89ab-7def-8123-456789abcde",
            "0123456789ab-7def-8123-456789abcdef0", "01234567-89ab-7def-8123-456789abcdeg",
            "{1234567-89ab-7def-8123-456789abcdef}", "01234567_89ab_7def_8123_456789abcdef",
            "01234567-89ab-7def-8123-456789abcd\u{E9}", "01234567-89ab-7def-8123-45678-abcdef",
        ])
    func otherTextIsRefused(text: String) { #expect(EventID(text) == nil) }

    @Test("of all bytes at each place, the digits alone are accepted", arguments: 0..<EventID.textLength)
    func otherBytesAreRefused(place: Int) {
        var text = Array("fedcba98-7654-7210-89AB-cdefABCDEF01".utf8)
        let isDash = text[place] == UInt8(ascii: "-")
        for byte in UInt8.min...UInt8.max {
            text[place] = byte
            let id = text.withUnsafeBufferPointer { EventID(text: $0) }
            let isDigit = "0123456789abcdefABCDEF".utf8.contains(byte)
            #expect((id != nil) == (isDash ? byte == UInt8(ascii: "-") : isDigit), "\(byte)")
            if let id {
                #expect(
                    Array(id.description.utf8) == String(decoding: text, as: UTF8.self).lowercased().utf8.map(\.self))
            }
        }
    }
}
