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
}
