import SluiceEvents
import Testing

@Suite("Texts that stand for a missing id")
struct PlaceholderIDTests {
    /// From the pages of Mixpanel and PostHog about ids that they ignore, Google's `(not set)`, and the texts that languages
    /// print for a missing value.
    private static let placeholders = [
        "", " ", "\t\r\n", "\u{A0}\u{3000}", "\u{200B}", "\u{FEFF}\u{200D}", "\u{0}", "null", "NULL", " null ",
        "Null\n", "(null)", "<null>", "\"null\"", "'null'", "nil", "<nil>", "(nil)", "None", "none", "undefined",
        "UNDEFINED", "NaN", "nan", "-nan", "N/A", "n/a", "#N/A", "na", "unknown", "anonymous", "Anon", "guest",
        "not_authenticated", "distinct_id", "distinctid", "id", "email", "true", "False", "[object Object]",
        "[object Null]", "[object Undefined]", "[object Object],[object Object]", "Optional(nil)",
        "undefined undefined", "null:null", "(not set)", "(none)", "[]", "nullptr", "(nullptr)", "Optional(\"\")",
        "Optional()", "<Optional>", "[object]", "(not provided)", " (Other)\n", "{}", "()", "-", "--", "?", "...", "0",
        "0x0", "0X00", "0x0000000000000000000000000000000000000000",
        "0x" + String(repeating: "0", count: 64), "-0", "0.0", "00", "000000000000",
        "00000000-0000-0000-0000-000000000000",
        "{00000000-0000-0000-0000-000000000000}", "00:00:00:00:00:00", "-1", "null\u{200B}", "\u{A0}undefined",
        String(repeating: "0", count: 300), String(repeating: " ", count: 2_000), String(repeating: "-", count: 65),
        "\\N", "[object Promise]", "[Object HTMLDivElement]", " [object Foo2]\n", "%!s(<nil>)", "%!d(string=42)",
        "-inf", "DBNull", "Some(None)", "urn:uuid:00000000-0000-0000-0000-000000000000", "{{user_id}}",
        "{{ user.id2 }}", "{{\u{438}\u{43C}\u{44F}}}", "${userId}", "${1}", "{{\(String(repeating: "x", count: 99))}}",
        // Nothing to see, or marks of all scripts: in full width, or around a word.
        "\u{3164}", "\u{115F}\u{1160}", "\u{34F}", "\u{FE0F}", "\u{17B4}", "\u{180B}", "\u{E0100}", "\u{301}",
        " \u{20DD}",
        "\u{2014}", "\u{2013}", "\u{2026}", "\u{FF1F}", "\u{201C}null\u{201D}", "\u{AB}null\u{BB}",
        "\u{2018}NULL\u{2019}",
        "\u{FF08}null\u{FF09}", "null\u{3002}", "\u{FF4E}\u{FF55}\u{FF4C}\u{FF4C}", "\u{FF10}", "\u{660}",
        "\u{966}\u{966}",
        "undefined\u{2009}undefined", "nu\u{2060}ll", "\u{203C}\u{FE0F}", "\u{3010}\u{4F1A}\u{54E1}\u{3011}",
        "(\u{540D}\u{FF09}",
        // Templates, directives and marks, whatever is in them.
        "#{user.id}", "<%= user.id %>", "%{user_id}", "%(user_id)s", "$(USER)", "{% user %}", "\\(user.id)", "%s", "%@",
        "%d",
        "object null", "Object(null)", "object: undefined", " -1", "-1 ", "\"-1\"", "(-1)", "\u{201C}-1\u{201D}",
        "\u{FF0D}\u{FF11}",
        "%{user1}%", "[TSM]", "<b>", "{% user 2 %}", "\u{FF3B}user\u{FF3D}",
        "<no value>", "[[uid]]", "[redacted]", "[email]", "[phone]", "[card]",
        "{user}",
        "[alice]", "<User 0x7f3c>", "[objects x2]", "{\"id\":7}", "%x", "@{user1}", "(user)",
        "%null%", "%00", "na%",
        // Java's and Guava's Optional, Haskell, Spring Security and Django, and a column that became float.
        "Optional.empty", "Optional.absent()", "Nothing", "empty", "(unset)", "anonymousUser", "AnonymousUser",
        "anonymous user", "-1.0", "\"-1.00\"", "object:",
        // The minus of typography, and other dashes that aren't punctuation.
        "0E-10", "0e+3", "(-0.00E-05)", "\"0E+9\"", "\u{2212}0E\u{2212}8", "-1e0", "-1.0E+00", "0.000000e+00",
        "-0.0E-00", "-01", "--1.",
        "\u{2212}", "\u{2212}0", "\u{2212}1", "(\u{2212}1.0)", "\u{207B}0", "\u{2053}", "null\u{2212}null",
    ]

    private static let ids = [
        "1", "42", "-2", "-1001234567890", "a", "n", "x0", "00x", "0x1", "10x0", "0y0",
        "00000000-0000-0000-0000-000000000001", "customer-42",
        "nullable", "nulls", "noname", "nancy", "anna", "Nona", "guest-house", "guests", "unknown-user", "my id",
        "user id", "object", "optional", "identity", "emails", "email@example.com", "alice@example.com",
        "null@example.com", "trueman", "undefined-behaviour", "nonexistent", "true love", "café", "naïve", "ünknown",
        "零", "🎉", "❤\u{FE0F}", "👩\u{200D}🚀", "\u{FF11}", "\u{661}", "नमस्ते", "ni\u{301}l", "na\u{300}", "null\u{301}",
        "nil\u{E9}", "nullptr_t", "alice (work)", "(alice", "alice)", "(42)",
        "Optional(\"alice\")", "019b7a3c-0000-7000-8000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "O",
        "lmnop", "NULL-ISLAND", String(repeating: "null ", count: 20) + "x", String(repeating: "x", count: 1_000),
        "some", "uuid", "urn", "Some(alice)", "urn:uuid:019b7a3c-0000-7000-8000-000000000000", "info", "infinite",
        "Nate", "Nat", "infinity", "%Sniper%", "%USERID%", "%Émile%", "N", "\\Nora", "x{{id}}", "$userId", "100%",
        "50%20", "a%2",
        "object Window", "{3F2504E0-4F89-11D3-9A0C-0305E82C3301}", "(3F2504E0-4F89-11D3-9A0C-0305E82C3301)",
        "(555) 123-4567", "alice [work]", "[work] alice", "object", "\u{201C}alice\u{201D}", "null%2Fisland",
        "user%201",
        // Percent-encoded texts, whatever they are decoded.
        "null%20", "%5Bobject%20Object%5D", "%D7%93%D7%95%D7%93", "%E2%80%9Cnull%E2%80%9D", "%EF%BC%9F", "%C2%A0",
        "%20x",
        "user%40example.com", "%+1", "undefined%0A",
        // No pair of brackets encloses the whole text.
        "[TSM] Bjergsen [NA]", "[Bot] Anna (QA)", "(Kate) & (Bob)",
        "\u{3010}\u{516C}\u{5F0F}\u{3011}\u{592A}\u{FF08}\u{4EEE}\u{FF09}",
        "(\u{682A})\u{5C71}(\u{6771})", "(Dr.) Tom <home>", "<b>Tom</b>", "\u{AF}\\_(\u{30C4})_/\u{AF}", "-=[Tom]=-",
        "~(Tom)~",
        "[card] [email]", "{{x}", "...(Tom)", "(Tom", "-[Tom]-",
        "%-Sniper-%", "%_Sniper_%", "%-42", "%_7", "%%42", "%-5d", "%7", "\\o", "\\7", "\\n", "\\(Tom", "-10", "--12",
        "a-1", "1-",
        // Numbers and symbols.
        "\u{2460}", "\u{BD}", "\u{B2}", "\u{20AC}", "\u{266F}", "\u{2167}", "1\u{2014}", "-1\u{1F389}",
        // Handles, and other numbers.
        "@some", "@object", "some object", "-1.5", "-1.0.1", "-1-0", "-10.0", "emptyset", "nothing else", "@empty.set",
        "0E10", "1E-10", "0x1E-5", "0A-10", "0-10", "0+1", "+1", "00-1", "-1E-1", "0E-1E", "0E-1-0", "-0x1", "0E-10@x",
        "x+0E-1",
        "\u{2212}2", "a\u{2212}1", "\u{2212}10", "\u{2213}", "\u{207B}x",
    ]

    @Test(
        "a placeholder is recognized in any case, with any punctuation and blanks of any script, and around nothing",
        arguments: placeholders)
    func placeholderIsRecognized(text: String) { #expect(PlaceholderID.matches(text)) }

    @Test("an id that only looks like a placeholder is an id", arguments: ids)
    func idIsNoPlaceholder(text: String) { #expect(!PlaceholderID.matches(text)) }

    /// Too long in characters or in bytes, and with NUL.
    private static let unusable = [
        String(repeating: "x", count: 256), String(repeating: "é", count: 300), String(repeating: "😀", count: 256),
        String(repeating: "e\u{301}", count: 128), String(repeating: "x1", count: 500_000), "a\0b", "\u{0}7", "x\0",
    ]

    @Test("the longest id, and one of the fewest characters, can be used", arguments: ["x", "é", "語", "😀"])
    func longestIDIsValid(character: String) {
        #expect(UserID.isValid(character) && UserID.isValid(String(repeating: character, count: 255)))
    }

    @Test(
        "setting a placeholder, or an id that is too long or has NUL, sets nil, and the event is no one's",
        arguments: placeholders + unusable)
    func eventHasNoInvalidID(text: String) {
        var event = Event(
            id: EventID(high: 0, low: 1), name: "Event", time: Timestamp(milliseconds: 0), distinctID: text,
            anonymousID: "a", loginID: text)
        #expect(event.distinctID == nil && event.anonymousID == "a" && event.loginID == nil)
        #expect(event.reportedSanitizations == [.droppedID] && event.isInScope && !event.needsUser)
        event = Event(id: event.id, name: "Event", time: event.time, anonymousID: "a")
        #expect(event.reportedSanitizations.isEmpty && !event.isInScope)
        event.anonymousID = text
        #expect(event.anonymousID == nil && event.takeSanitizations() == [.droppedID])
        event.isInScope = false
        #expect(event.isInScope && !event.needsUser)
    }

    @Test("a stored line is read as it is")
    func storedLineIsReadAsItIs() throws {
        let id = "00000000-0000-7000-8000-000000000001"
        let text = #"{"id":"\#(id)","event":"E","time":0,"distinct_id":"null","login_id":"0","properties":{}}"#
        let line = EventLine(bytes: Array(text.utf8)[...], priority: .normal)
        let event = try line.event()
        #expect(event.distinctID == "null" && event.loginID == "0")
        #expect(try EventLine(event).bytes == line.bytes)
    }
}
