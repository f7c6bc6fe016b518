import Sluice
import SluiceFilters
import TestSupport
import Testing

@Suite("Redaction: secrets are replaced")
struct RedactionTests {
    @Test("values under secret keys are replaced, at every depth and in any case")
    func secretKeysAreReplaced() throws {
        let event = try #require(
            Redaction(keys: ["password", "apiKey"]).processed(
                "Login",
                [
                    "password": "hunter2", "PassWord": 7, "passwords": "kept", "user": "bob",
                    "nested": ["list": [["APIKEY": ["a": 1], "n": 1.5]], "password": nil],
                ]))
        #expect(
            event.properties == [
                "password": "[redacted]", "PassWord": "[redacted]", "passwords": "kept", "user": "bob",
                "nested": ["list": [["APIKEY": "[redacted]", "n": 1.5]], "password": "[redacted]"],
            ])
    }

    @Test(
        "e-mail addresses are replaced",
        arguments: [
            ("bob@example.org", "[email]"),
            ("mail Bob.O'Neil+tag@sub.example.co.uk now", "mail [email] now"),
            ("<bob@example.org>, eve_2@x-y.com.", "<[email]>, [email]."),
            ("/users/bob@example.org/edit?to=eve@example.org&x=1", "/users/[email]/edit?to=[email]&x=1"),
            ("?mail=bob%2Btag%40example.org&x=1", "?mail=[email]&x=1"),
            ("jürgen@müller.de", "[email]"),
            ("用户@例子.公司", "[email]"),
            ("a@b.xn--p1ai", "[email]"),
            (".bob@example.org", ".[email]"),
            ("bob@example.org.7", "[email].7"),
            ("a@b@c.de", "a@[email]"),
            ("😀bob@example.org😀", "[email]"),
            ("user@localhost", nil),
            ("@example.org", nil),
            ("bob@", nil),
            ("@", nil),
            ("bob@example.c", nil),
            ("bob@1.2.3.4", nil),
            ("pkg@1.2.3", nil),
            ("50%40 is no at sign", nil),
            ("meet @ noon.ish", nil),
            ("%4", nil),
            ("", nil),
        ] as [(String, String?)])
    func emailsAreReplaced(text: String, redacted: String?) throws {
        try check(.email, text, redacted)
    }

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
        try check(.paymentCard, text, redacted)
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

    @Test(
        "phone numbers are replaced",
        arguments: [
            ("+49 30 1234567", "[phone]"),
            ("+493012345678", "[phone]"),
            ("call +1 (555) 123-4567!", "call [phone]!"),
            ("tel:+44-20-7946-0958;ext=1", "tel:[phone];ext=1"),
            ("+33 1 23 45 67 89", "[phone]"),
            ("0049 30 1234567", "[phone]"),
            ("(555) 123-4567", "[phone]"),
            ("555-123-4567", "[phone]"),
            ("555.123.4567", "[phone]"),
            ("1-800-555-0199", "[phone]"),
            ("5 555 123 4567", "5 [phone]"),
            ("030 1234567", "[phone]"),
            ("0171/1234567", "[phone]"),
            ("(020) 7946 0958", "[phone]"),
            ("07700 900123", "[phone]"),
            ("01 23 45 67 89", "[phone]"),
            ("a 555-123-4567 b 030 1234567 c", "a [phone] b [phone] c"),
            ("+49\u{A0}30\u{A0}1234567", "[phone]"),
            ("+49\u{A0}171 1234567", "[phone]"),
            ("+33\u{202F}612\u{202F}345\u{202F}678", "[phone]"),
            ("Tel.\u{A0}030\u{2009}1234567", "Tel.\u{A0}[phone]"),
            ("(555)\u{A0}123\u{A0}4567", "[phone]"),
            ("(555)  123-4567", "[phone]"),
            ("555\u{202F}123\u{202F}4567", "[phone]"),
            ("01\u{A0}23\u{A0}45\u{A0}67\u{A0}89", "[phone]"),
            ("030  1234567", "[phone]"),
            ("+49  30  1234567", "[phone]"),
            ("+49.30.1234567", "[phone]"),
            ("0049.30.1234567", "[phone]"),
            ("01.23.45.67.89", "[phone]"),
            ("0171.123.4567", "[phone]"),
            ("020.7946.0958.", "[phone]."),
            ("1\u{202F}030\u{202F}123\u{202F}456 €", nil),
            ("12\u{A0}345\u{A0}678", nil),
            ("+1\u{202F}234\u{202F}567 €", nil),
            ("+12\u{A0}345.67", nil),
            ("01\u{A0}02\u{A0}2026", nil),
            ("052.5200066", nil),
            ("04807.038123", nil),
            ("010.020.030.040", nil),
            ("01.02.2026", nil),
            ("01.02.03.04", nil),
            ("01.23.45.67.89.10", nil),
            ("7.01.23.45.67.89", nil),
            ("2026-11-21", nil),
            ("2026-11-21T05:55:16.123Z", nil),
            ("21.11.2026 12:30", nil),
            ("01.02.2026 12:30", nil),
            ("01/02/2026 12:30:00", nil),
            ("01-02-2026 12:30", nil),
            ("12:30:45", nil),
            ("192.168.100.200", nil),
            ("1.800.555.0199.7", nil),
            ("550e8400-e29b-41d4-a716-446655440000", nil),
            ("0123456789", nil),
            ("1234567890", nil),
            ("1800000000000", nil),
            ("0000 0000 0000", nil),
            ("+1", nil),
            ("+0123456789", nil),
            ("x+49", nil),
            ("1+2345678", nil),
            ("v1.2.3-4", nil),
            ("$12.50 (3 items)", nil),
            ("(", nil),
            ("+", nil),
            ("((((", nil),
            ("", nil),
        ] as [(String, String?)])
    func phonesAreReplaced(text: String, redacted: String?) throws {
        try check(.phone, text, redacted)
    }

    private func check(_ pattern: Redaction.Pattern, _ text: String, _ redacted: String?) throws {
        let event = try #require(Redaction(patterns: [pattern]).processed("Event", ["text": .string(text)]))
        #expect(event.properties == ["text": .string(redacted ?? text)])
    }

    @Test("patterns are found in names and at every depth too")
    func patternsMatchAtEveryDepth() throws {
        let event = try #require(
            Redaction(patterns: [.email, .phone]).processed(
                "/users/bob@example.org",
                [
                    "bob@example.org": 1, "date": .date(Timestamp(milliseconds: 0)), "flag": true, "none": nil,
                    "nested": ["list": ["555-123-4567", 5], "eve@example.org": "eve@example.org, 555-123-4567"],
                ]))
        #expect(event.name == "/users/[email]")
        #expect(
            event.properties == [
                "[email]": 1, "date": .date(Timestamp(milliseconds: 0)), "flag": true, "none": nil,
                "nested": ["list": ["[phone]", 5], "[email]": "[email], [phone]"],
            ])
    }

    @Test("if names become equal, one property stays")
    func equalNamesKeepOneProperty() throws {
        let event = try #require(
            Redaction(patterns: [.email]).processed(
                "Event", ["a@b.de": 1, "c@d.de": 2, "x": ["a@b.de": 1, "c@d.de": 2]]))
        #expect(event.properties == ["[email]": 2, "x": ["[email]": 2]])
    }

    @Test("without keys and patterns nothing is changed")
    func emptyRedactionChangesNothing() throws {
        let properties: Properties = ["password": "a", "mail": "bob@example.org", "card": "4111111111111111"]
        #expect(try #require(Redaction().processed("Event", properties)).properties == properties)
    }

    @Test("the ids of an event are not changed")
    func userIDsAreNotRedacted() throws {
        var event = Event.named()
        event.loginID = "bob@example.org"
        #expect(Redaction(patterns: [.email]).process(&event) == .keep)
        #expect(event.loginID == "bob@example.org")
    }

    @Test("an earlier sanitization is still counted once")
    func earlierSanitizationsAreKept() async throws {
        let test = try TestPipeline { Redaction(keys: ["password"], patterns: [.email]) }
        test.pipeline.track("Event", ["a": .double(.nan), "password": 1, "x@y.de": ["z": "x@y.de"]])
        #expect(try await test.event().properties == ["a": nil, "password": "[redacted]", "[email]": ["z": "[email]"]])
        #expect(test.pipeline.ledger.sanitized == [.nonFiniteNumber: 1, .redacted: 1])
    }

    @Test(
        "redaction takes linear time for any text",
        arguments: ["a%40", "a@", "1", "1 ", "(", "1-", "+1", "@.", "0 ", "٠", "4111.", "01.", "1\u{A0}", "\u{202F}"])
    func redactionIsLinear(unit: String) {
        // Read over and over, each of these would take minutes.
        let text = String(repeating: unit, count: 60_000 / unit.utf8.count)
        #expect(Redaction(patterns: [.email, .paymentCard, .phone]).processed(text) != nil)
    }

    @Test("only changed events are counted")
    func changedEventsAreCounted() async throws {
        let test = try TestPipeline { Redaction(keys: ["password"], patterns: [.email]) }
        test.pipeline.track("A", ["password": "x", "mail": "a@example.org"])
        test.pipeline.track("B", ["text": "nothing secret"])
        test.pipeline.track("write to a@example.org")
        #expect(test.pipeline.ledger.sanitized == [.redacted: 2])
        _ = await test.events()
    }
}
