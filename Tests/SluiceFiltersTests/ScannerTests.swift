import SluiceFilters
import TestSupport
import Testing

/// Texts, and what they become. A text with nil stays as it is.
@Suite struct ScannerTests {
    static let cards: [(String, String?)] = [
        ("4111111111111111", "[card]"), ("4111 1111 1111 1111", "[card]"),
        ("card 4111-1111-1111-1111, thanks", "card [card], thanks"), ("12 4111 1111 1111 1111", "12 [card]"),
        ("4111 1111 1111 1111 12/30 123", "[card] 12/30 123"), ("PAN4111111111111111", "PAN[card]"),
        ("4222222222222", "[card]"), ("5555555555554444 and 378282246310005", "[card] and [card]"),
        ("3782 822463 10005", "[card]"), ("6011111111111117", "[card]"), ("30569309025904", "[card]"),
        ("3530111333300000", "[card]"), ("2223003122003222", "[card]"), ("6759649826438453", "[card]"),
        ("4111111111111112", nil),  // wrong check digit
        ("411111111111111", nil),  // too short for its issuer
        ("41111111111111111", nil),  // too long for it
        ("1111111111111117", nil),  // an unassigned prefix
        ("1800000000000", nil),  // a time in milliseconds
        ("4111  1111  1111  1111", "[card]"), ("4111.1111.1111.1111", "[card]"), ("4111.1111.1111.1111.", "[card]."),
        ("3782.822463.10005", "[card]"), ("4111\u{A0}1111\u{A0}1111\u{A0}1111", "[card]"),
        ("4111\u{2009}1111\u{2009}1111\u{2009}1111", "[card]"),
        ("a\u{202F}4111\u{202F}1111\u{202F}1111\u{202F}1111\u{202F}€", "a\u{202F}[card]\u{202F}€"),
        ("3782\u{A0} 822463\u{A0} 10005", "[card]"), ("4222\u{A0}2222\u{A0}2222\u{A0}2", "[card]"),
        ("4111   1111   1111   1111", nil),  // three spaces are a table
        ("4\t111\t1111\t1111\t1111", nil),
        ("4\u{202F}222\u{202F}222\u{202F}222\u{202F}222 €", nil),  // an amount
        ("4  222  222  222  222", nil), ("4.222.222.222.222", nil), ("4111.1111 1111 1111", nil),
        ("4111.1111.1111.1111.5", nil),  // a version, or other text with more dots
        ("1.4111.1111.1111.1111", nil), ("52.168.100.200 4111", nil),
        ("0.4111111111111111", nil),  // a fraction
        ("41111111111111114111111111111111", nil),  // a longer number
        ("0000000000000000", nil), ("", nil),
        ("\u{FF14}111\u{3000}1111\u{3000}1111\u{3000}111\u{FF11}\u{3067}\u{3059}", "[card]\u{3067}\u{3059}"),
        ("\u{664}\u{661}11 1111 1111 1111", "[card]"), ("\u{FF10}\u{FF0E}4111111111111111", nil),
        ("4111\u{2011}1111\u{2013}1111-1111", "[card]"),
        ("\u{2764}\u{FE0F}411\u{200B}1111111111111", "\u{2764}\u{FE0F}[card]"),
        ("?card=4111%201111%201111%201111&x=%E4%BD%A0", "?card=[card]&x=%E4%BD%A0"), ("4111%+41111%4", nil),
        ("?pan=5555+5555+5555+4444&cvc=1", "?pan=[card]&cvc=1"), ("4111%2B1111%2B1111%2B1111", "[card]"),
        ("6011_1111_1111_1117", "[card]"), ("/cards/3530/1113/3330/0000/edit", "/cards/[card]/edit"),
        ("3782*822463*10005", "[card]"), ("4222:2222:2222:2", "[card]"), ("5105~1051~0510~5100.", "[card]."),
        ("3056=930902=5904 x", "[card] x"), ("4111\u{2212}1111\u{2212}1111\u{2212}1111", "[card]"),
        ("4111+1111+1111+1111+5", nil), ("4111_111111_111111", nil), ("4111/1111 1111 1111", nil),
        ("4111,1111,1111,1111", nil), ("4111;1111;1111;1111", nil), ("4111|1111|1111|1111", nil),  // lists
        // Marks of all scripts, also between blanks.
        ("5500·0055·5555·5559", "[card]"), ("(3714•496353•98431)", "([card])"), ("5500・0055・5555・5559号", "[card]号"),
        ("5500 - 0055 - 5555 - 5559", "[card]"), ("5500 – 0055 – 5555 – 5559, x", "[card], x"),
        ("3714 / 496353 / 98431", "[card]"), ("5500×0055×5555×5559", "[card]"), ("5500’0055’5555’5559", "[card]"),
        ("5500\u{A0}★\u{A0}0055\u{A0}★\u{A0}5555\u{A0}★\u{A0}5559", "[card]"), ("5500│0055│5555│5559", "[card]"),
        ("5500 - 0055 - 5555 - 5559 - 1", nil), ("5500·0055·5555·5559·0", nil), ("5500·0055 5555 5559", nil),
        ("5500、0055、5555、5559", nil), ("5500，0055，5555，5559", nil), ("5500، 0055، 5555، 5559", nil),
        ("5500x0055x5555x5559", nil), ("5500年0055年5555年5559", nil), ("5500½0055½5555½5559", nil),
        ("5500··0055··5555··5559", nil),
        ("5500\u{A0}\u{A0}\u{A0}0055\u{A0}\u{A0}\u{A0}5555\u{A0}\u{A0}\u{A0}5559", nil),
        ("7,4111111111111111/5", "7,[card]/5"), ("4111+1111=5222", nil), ("4111\n1111\n1111\n1111", nil),
    ]

    static let emails: [(String, String?)] = [
        ("bob@example.org", "[email]"), ("mail Bob.O'Neil+tag@sub.example.co.uk now", "mail [email] now"),
        ("<bob@example.org>, eve_2@x-y.com.", "<[email]>, [email]."),
        ("/users/bob@example.org/edit?to=eve@example.org&x=1", "/users/[email]/edit?to=[email]&x=1"),
        ("?mail=bob%2Btag%40example.org&x=1", "?mail=[email]&x=1"), ("jürgen@müller.de", "[email]"),
        ("用户@例子.公司", "[email]"), ("a@b.xn--p1ai", "[email]"), (".bob@example.org", ".[email]"),
        ("bob@example.org.7", "[email].7"), ("a@b@c.de", "a@[email]"), ("😀bob@example.org😀", "[email]"),
        ("user@localhost", nil), ("@example.org", nil), ("bob@", nil), ("@", nil), ("bob@example.c", nil),
        ("\u{FF42}ob\u{FF20}example\u{FF0E}org\u{3000}x", "[email]\u{3000}x"), ("bob@exam\u{AD}ple.org", "[email]"),
        ("bob%40example%2Eorg", "[email]"), ("\u{FF42}ob\u{FF20}x", nil),
        ("bob@1.2.3.4", nil), ("pkg@1.2.3", nil), ("50%40 is no at sign", nil), ("meet @ noon.ish", nil), ("%4", nil),
        ("", nil),
    ]

    static let phones: [(String, String?)] = [
        ("+49 30 1234567", "[phone]"), ("+493012345678", "[phone]"), ("call +1 (555) 123-4567!", "call [phone]!"),
        ("tel:+44-20-7946-0958;ext=1", "tel:[phone];ext=1"), ("+33 1 23 45 67 89", "[phone]"),
        ("0049 30 1234567", "[phone]"), ("(555) 123-4567", "[phone]"), ("555-123-4567", "[phone]"),
        ("555.123.4567", "[phone]"), ("1-800-555-0199", "[phone]"), ("5 555 123 4567", "5 [phone]"),
        ("030 1234567", "[phone]"), ("0171/1234567", "[phone]"), ("(020) 7946 0958", "[phone]"),
        ("07700 900123", "[phone]"), ("01 23 45 67 89", "[phone]"),
        ("a 555-123-4567 b 030 1234567 c", "a [phone] b [phone] c"), ("+49\u{A0}30\u{A0}1234567", "[phone]"),
        ("+49\u{A0}171 1234567", "[phone]"), ("+33\u{202F}612\u{202F}345\u{202F}678", "[phone]"),
        ("Tel.\u{A0}030\u{2009}1234567", "Tel.\u{A0}[phone]"), ("(555)\u{A0}123\u{A0}4567", "[phone]"),
        ("(555)  123-4567", "[phone]"), ("555\u{202F}123\u{202F}4567", "[phone]"),
        ("01\u{A0}23\u{A0}45\u{A0}67\u{A0}89", "[phone]"), ("030  1234567", "[phone]"),
        ("+49  30  1234567", "[phone]"), ("+49.30.1234567", "[phone]"), ("0049.30.1234567", "[phone]"),
        ("01.23.45.67.89", "[phone]"), ("0171.123.4567", "[phone]"), ("020.7946.0958.", "[phone]."),
        ("\u{FF0B}\u{FF18}\u{FF11}\u{FF0D}\u{FF19}\u{FF10}\u{FF0D}1234\u{FF0D}5678", "[phone]"),
        ("+49\u{2011}30\u{2011}1234567", "[phone]"), ("?to=%2B49301234567", "?to=[phone]"),
        ("\u{6F0}21\u{2012}12345678", "[phone]"), ("+49\u{2060}301234567", "[phone]"),
        ("2026\u{2011}11\u{2011}21", nil), ("12\u{FF1A}30\u{FF1A}45", nil),
        ("03-1234-5678", "[phone]"), ("(02) 9876 5432", "[phone]"), ("02 123 45 67", "[phone]"),
        ("06 12345678", "[phone]"), ("08-123 456 78", "[phone]"), ("09 1234567 x", "[phone] x"),
        ("05-06-202612", nil), ("01/2026 12:30", nil),
        ("1\u{202F}030\u{202F}123\u{202F}456 €", nil), ("12\u{A0}345\u{A0}678", nil),
        ("+1\u{202F}234\u{202F}567 €", nil), ("+12\u{A0}345.67", nil), ("01\u{A0}02\u{A0}2026", nil),
        ("052.5200066", nil), ("04807.038123", nil), ("010.020.030.040", nil), ("01.02.2026", nil),
        ("01.02.03.04", nil), ("01.23.45.67.89.10", nil), ("7.01.23.45.67.89", nil), ("2026-11-21", nil),
        ("2026-11-21T05:55:16.123Z", nil), ("21.11.2026 12:30", nil), ("01.02.2026 12:30", nil),
        ("01/02/2026 12:30:00", nil), ("01-02-2026 12:30", nil), ("12:30:45", nil), ("192.168.100.200", nil),
        ("1.800.555.0199.7", nil), ("550e8400-e29b-41d4-a716-446655440000", nil), ("0123456789", nil),
        ("1234567890", nil), ("1800000000000", nil), ("0000 0000 0000", nil), ("+1", nil), ("+0123456789", nil),
        ("x+49", nil), ("1+2345678", nil), ("v1.2.3-4", nil), ("$12.50 (3 items)", nil), ("(", nil), ("+", nil),
        ("((((", nil), ("", nil),
        // Directly behind letters of other scripts, symbols and quotation marks, and with the plus in parentheses.
        ("\u{96FB}\u{8A71}03-1234-5678\u{3067}\u{3059}", "\u{96FB}\u{8A71}[phone]\u{3067}\u{3059}"),
        ("\u{422}\u{435}\u{43B}+7 495 1234567", "\u{422}\u{435}\u{43B}[phone]"),
        ("\u{1F4DE}+33 6 12 34 56 78", "\u{1F4DE}[phone]"), ("\u{201C}030 1234567\u{201D}", "\u{201C}[phone]\u{201D}"),
        ("\u{2022}(020) 7946 0958", "\u{2022}[phone]"), ("\u{BB}0171/1234567\u{AB}", "\u{BB}[phone]\u{AB}"),
        ("Caf\u{E9}555-123-4567", "Caf\u{E9}[phone]"),
        ("\u{E42}\u{E17}\u{E23}02 123 4567", "\u{E42}\u{E17}\u{E23}[phone]"),
        ("(+49) 30 1234567", "[phone]"), ("call (+44 20 7946 0958)", "call [phone])"),
        ("(+81)90\u{2212}1234\u{2212}5678", "[phone]"), ("+(49) 30 1234567", "[phone]"), ("( 030 ) 1234567", "[phone]"),
        ("+49\u{2212}30\u{2212}1234567", "[phone]"),
        ("12(+4930)", nil), ("(+0123456789", nil), ("(+", nil), ("(+(+(+", nil), ("\u{5E74}2026-11-21", nil),
        ("\u{6642}12:30:45", nil), ("\u{2116}1234567890", nil), ("\u{A3}01.02.2026", nil),
        ("\u{7B2C}05-06-202612", nil),
    ]

    @Test(
        "cards, addresses and phone numbers are replaced",
        arguments: [
            (Redaction.Pattern.paymentCard, cards), (.email, emails), (.phone, phones),
        ])
    func textsAreReplaced(pattern: Redaction.Pattern, rows: [(String, String?)]) throws {
        for (text, redacted) in rows {
            let event = try #require(Redaction(patterns: [pattern]).processed("Event", ["text": .string(text)]))
            #expect(event.properties == ["text": .string(redacted ?? text)], "\(text)")
        }
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
