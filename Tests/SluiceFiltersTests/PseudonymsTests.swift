import SluiceFilters
import TestSupport
import Testing

@Suite("Pseudonyms: ids that only the key can connect to people")
struct PseudonymsTests {
    private static let key = Array("0123456789abcdef0123456789abcdef".utf8)
    private let pseudonyms = Pseudonyms(key: key, properties: ["email", "card"])

    private func processed(_ pseudonyms: Pseudonyms, _ change: (inout Event) -> Void) -> Event {
        var event = Event.named()
        change(&event)
        _ = pseudonyms.process(&event)
        return event
    }

    // printf 42 | openssl dgst -sha256 -hmac 0123456789abcdef0123456789abcdef
    private static let fortyTwo = "3b12d0412db185c98ff58825ed4c81cfbc7bdabcf33ac48bdaaae5f39fc65445"

    @Test("a pseudonym is the HMAC-SHA-256 that openssl prints")
    func pseudonymIsHMAC() { #expect(pseudonyms.pseudonym(of: "42") == Self.fortyTwo) }

    @Test(
        "all three ids are replaced, and ids are equal if their bytes are",
        arguments: [
            ("42", "42", "a"), ("a", nil, "a"), ("b", "a", "a"), (nil, nil, nil), ("e\u{301}", "\u{e9}", "e\u{301}"),
        ] as [(String?, String?, String?)])
    func replacesIDs(distinctID: String?, loginID: String?, anonymousID: String?) {
        let event = processed(pseudonyms) {
            ($0.distinctID, $0.loginID, $0.anonymousID) = (distinctID, loginID, anonymousID)
        }
        let expected = [distinctID, loginID, anonymousID].map { $0.map { pseudonyms.pseudonym(of: $0) } }
        #expect([event.distinctID, event.loginID, event.anonymousID] == expected)
        #expect((event.distinctID == event.loginID) == (distinctID?.utf8.map(\.self) == loginID?.utf8.map(\.self)))
    }

    @Test("the ids that Identity adds as properties are replaced")
    func replacesIDsInProperties() {
        let event = processed(pseudonyms) {
            $0.properties = [
                "$alias": "42", "$id_kind": "phone", "$id_value": "42", "$identities": ["phone": "42", "card": nil],
                "$group_type": "company", "$group_key": "42", "$groups": ["company": 42], "$item_id": "42",
            ]
        }
        let own = PropertyValue.string(Self.fortyTwo)
        #expect(
            event.properties == [
                "$alias": own, "$id_kind": "phone", "$id_value": own, "$identities": ["phone": own, "card": nil],
                "$group_type": "company", "$group_key": own, "$groups": ["company": own], "$item_id": "42",
            ])
    }

    @Test(
        "an id that stands for a missing one stays, because its hash would be an id that many people have",
        arguments: [
            "undefined", "null", nil, 0, "(not set)", "\u{200B}", "00000000-0000-0000-0000-000000000000", false,
        ]
            as [PropertyValue])
    func placeholdersStay(value: PropertyValue) {
        let ids: Properties = [
            "$original_id": value, "$alias": value, "$id_value": value, "$group_key": value,
            "$identities": ["crm": value], "$groups": ["company": value],
        ]
        #expect(processed(pseudonyms) { $0.properties = ids }.properties == ids)
        // The value of another property says something about the person.
        let isNull = value == .null
        #expect((processed(pseudonyms) { $0.properties = ["card": value] }.properties == ["card": value]) == isNull)
    }

    @Test("chosen properties and the id of a sign-up are replaced at every depth, others stay")
    func replacesProperties() {
        let event = processed(pseudonyms) {
            $0.properties = [
                "$original_id": "42", "email": ["42", nil], "$set": ["email": "42", "city": "Rome"],
                "list": [["card": 42]], "plan": "42",
            ]
        }
        let card = PropertyValue.string(pseudonyms.pseudonym(of: "42"))
        #expect(
            event.properties == [
                "$original_id": .string(Self.fortyTwo), "email": [.string(Self.fortyTwo), nil],
                "$set": ["email": .string(Self.fortyTwo), "city": "Rome"], "list": [["card": card]], "plan": "42",
            ])
    }

    @Test("a daily pseudonym is equal for a day in UTC, and different on the next one", arguments: [0, -1, 20_000])
    func rotatesDaily(day: Int64) {
        let daily = Pseudonyms(key: Self.key, rotation: .daily)
        func id(_ milliseconds: Int64) -> String? {
            processed(daily) {
                $0.time = Timestamp(milliseconds: day * 86_400_000 + milliseconds)
                $0.distinctID = "42"
            }.distinctID
        }
        #expect(id(0) == id(86_399_999))
        #expect(id(0) != id(86_400_000))
        #expect(id(0) != id(-1))
        #expect(id(0) != Self.fortyTwo)
        #expect(id(0) == daily.pseudonym(of: "42", at: Timestamp(milliseconds: day * 86_400_000)))
    }
}
