import Sluice
import SluiceFilters
import TestSupport
import Testing

@Suite struct CardScannerTests {
    @Test(
        "payment cards are replaced",
        arguments: [
            ("4111111111111111", "[card]"),
            ("4111 1111 1111 1111", "[card]"),
            ("card 4111-1111-1111-1111, thanks", "card [card], thanks"),
            ("12 4111 1111 1111 1111", "12 [card]"),
            ("4111 1111 1111 1111 12/30 123", "[card] 12/30 123"),
            ("PAN4111111111111111", "PAN[card]"),
            ("4222222222222", "[card]"),
            ("5555555555554444 and 378282246310005", "[card] and [card]"),
            ("3782 822463 10005", "[card]"),
            ("6011111111111117", "[card]"),
            ("30569309025904", "[card]"),
            ("3530111333300000", "[card]"),
            ("2223003122003222", "[card]"),
            ("6759649826438453", "[card]"),
            ("4111111111111112", nil),  // wrong check digit
            ("411111111111111", nil),  // too short for its issuer
            ("41111111111111111", nil),  // too long for it
            ("1111111111111117", nil),  // an unassigned prefix
            ("1800000000000", nil),  // a time in milliseconds
            ("4111  1111  1111  1111", "[card]"),
            ("4111.1111.1111.1111", "[card]"),
            ("4111.1111.1111.1111.", "[card]."),
            ("3782.822463.10005", "[card]"),
            ("4111\u{A0}1111\u{A0}1111\u{A0}1111", "[card]"),
            ("4111\u{2009}1111\u{2009}1111\u{2009}1111", "[card]"),
            ("a\u{202F}4111\u{202F}1111\u{202F}1111\u{202F}1111\u{202F}€", "a\u{202F}[card]\u{202F}€"),
            ("3782\u{A0} 822463\u{A0} 10005", "[card]"),
            ("4222\u{A0}2222\u{A0}2222\u{A0}2", "[card]"),
            ("4111   1111   1111   1111", nil),  // three spaces are a table
            ("4\t111\t1111\t1111\t1111", nil),
            ("4\u{202F}222\u{202F}222\u{202F}222\u{202F}222 €", nil),  // an amount
            ("4  222  222  222  222", nil),
            ("4.222.222.222.222", nil),
            ("4111.1111 1111 1111", nil),
            ("4111.1111.1111.1111.5", nil),  // a version, or other text with more dots
            ("1.4111.1111.1111.1111", nil),
            ("52.168.100.200 4111", nil),
            ("0.4111111111111111", nil),  // a fraction
            ("41111111111111114111111111111111", nil),  // a longer number
            ("0000000000000000", nil),
            ("", nil),
        ] as [(String, String?)])
    func cardsAreReplaced(text: String, redacted: String?) throws {
        try expectRedaction(.paymentCard, text, redacted)
    }

    @Test(
        "payment cards that are numbers are replaced",
        arguments: [
            (4_111_111_111_111_111, true), (4_111_111_111_111_111.0, true), (378_282_246_310_005, true),
            (4_111_111_111_111_112, false), (1_800_000_000_000, false), (-4_111_111_111_111_111, false), (0, false),
            (4_111_111_111_111_111.5, false), (1e300, false),
        ] as [(PropertyValue, Bool)])
    func numericCardsAreReplaced(value: PropertyValue, isRedacted: Bool) throws {
        let event = try #require(Redaction(patterns: [.email, .paymentCard, .phone]).processed("Paid", ["n": value]))
        #expect(event.properties["n"] == (isRedacted ? "[card]" : value))
    }
}
