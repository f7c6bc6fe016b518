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
        "-0", "0.0", "00", "000000000000", "00000000-0000-0000-0000-000000000000",
        "{00000000-0000-0000-0000-000000000000}", "00:00:00:00:00:00", "-1", "null\u{200B}", "\u{A0}undefined",
        String(repeating: "0", count: 300), String(repeating: " ", count: 2_000), String(repeating: "-", count: 65),
        "\\N", "[object Promise]", "[Object HTMLDivElement]", " [object Foo2]\n", "%!s(<nil>)", "%!d(string=42)",
        "-inf", "DBNull", "Some(None)", "urn:uuid:00000000-0000-0000-0000-000000000000", "{{user_id}}",
        "{{ user.id2 }}", "{{\u{438}\u{43C}\u{44F}}}", "${userId}", "${1}", "{{\(String(repeating: "x", count: 99))}}",
    ]

    private static let ids = [
        "1", "42", "-2", "-1001234567890", "a", "n", "x0", "0x0", "00000000-0000-0000-0000-000000000001", "customer-42",
        "nullable", "nulls", "noname", "nancy", "anna", "Nona", "guest-house", "guests", "unknown-user", "my id",
        "user id", "object", "optional", "identity", "emails", "email@example.com", "alice@example.com",
        "null@example.com", "trueman", "undefined-behaviour", "nonexistent", "true love", "café", "naïve", "ünknown",
        "零", "٠", "🎉", "null\u{301}", "nil\u{E9}", "nullptr_t", "alice (work)", "(alice", "alice)", "(42)",
        "Optional(\"alice\")", "019b7a3c-0000-7000-8000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "O",
        "lmnop", "NULL-ISLAND", String(repeating: "null ", count: 20) + "x", String(repeating: "x", count: 1_000),
        "some", "uuid", "urn", "Some(alice)", "urn:uuid:019b7a3c-0000-7000-8000-000000000000", "info", "infinite",
        "Nate", "Nat", "infinity", "%Sniper%", "\\n", "N", "\\Nora", "{user}", "{{x}", "x{{id}}", "$userId", "100%",
        "%x", "[alice]", "object Window", "[objects x]",
    ]

    @Test(
        "a placeholder is recognized in any case, with any punctuation and blanks, and around nothing",
        arguments: placeholders)
    func placeholderIsRecognized(text: String) { #expect(PlaceholderID.matches(text)) }

    @Test("an id that only looks like a placeholder is an id", arguments: ids)
    func idIsNoPlaceholder(text: String) { #expect(!PlaceholderID.matches(text)) }

    @Test("setting a placeholder as an id of an event sets nil, and is reported", arguments: placeholders)
    func eventHasNoPlaceholder(text: String) {
        var event = Event(
            id: EventID(high: 0, low: 1), name: "Event", time: Timestamp(milliseconds: 0), distinctID: text,
            anonymousID: "a", loginID: text)
        #expect(event.distinctID == nil && event.anonymousID == "a" && event.loginID == nil)
        #expect(event.reportedSanitizations == [.droppedID])
        event = Event(id: event.id, name: "Event", time: event.time, anonymousID: "a")
        #expect(event.reportedSanitizations.isEmpty)
        event.anonymousID = text
        #expect(event.anonymousID == nil && event.takeSanitizations() == [.droppedID])
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
