import SluiceFilters
import TestSupport
import Testing

@Suite("Limits: events stay within a backend's limits")
struct LimitsTests {
    @Test("an event within the limits is unchanged")
    func eventsWithinLimitsAreUnchanged() throws {
        let limits = Limits(
            eventName: .dropEvent(over: 5), properties: .dropEvent(over: 3), propertyName: .dropEvent(over: 4),
            string: .dropEvent(over: 4))
        let properties: Properties = ["名前名前": "äöüß", "b": ["c": ["😀😀"]], "d": 123_456_789]
        let event = try #require(limits.processed("Event", properties))
        #expect(event.properties == properties)
        #expect(event.reportedSanitizations.isEmpty)
    }

    @Test("cutting shortens names and strings to characters, and keeps the properties that were set first")
    func cutShortens() throws {
        let limits = Limits(
            eventName: .cut(to: 3), properties: .cut(to: 2), propertyName: .cut(to: 2), string: .cut(to: 3))
        let event = try #require(
            limits.processed("Purchase", ["aé": "😀😀😀😀", "bbb": ["ccc": ["dddd", "eee"]], "f": 1, "g": 2]))
        #expect(event.name == "Pur")
        #expect(event.properties == ["aé": "😀", "bb": ["cc": ["ddd", "eee"]]])
        #expect(
            Set(event.reportedSanitizations) == [.truncatedName, .cutPropertyName, .truncatedString, .droppedProperty])
    }

    @Test("dropProperty drops the whole property that contains the excess")
    func dropPropertyDropsWholeProperty() throws {
        let limits = Limits(
            properties: .dropProperty(over: 2), propertyName: .dropProperty(over: 3), string: .dropProperty(over: 3))
        let event = try #require(
            limits.processed("Event", ["long name": 1, "a": "long", "b": ["c": ["long"]], "d": 1, "e": 2, "f": 3]))
        #expect(event.properties == ["d": 1, "e": 2])
        #expect(event.reportedSanitizations == [.droppedProperty])
    }

    @Test(
        "a dropped event is counted by its reason",
        arguments: [
            (Limits(eventName: .dropEvent(over: 3)), .eventNameTooLong),
            (Limits(eventName: .dropProperty(over: 3)), .eventNameTooLong),
            (Limits(properties: .dropEvent(over: 1)), .tooManyProperties),
            (Limits(propertyName: .dropEvent(over: 3)), .propertyNameTooLong),
            (Limits(string: .dropEvent(over: 3)), .stringTooLong),
        ] as [(Limits, DropReason)])
    func droppedEventCountsByReason(limits: Limits, reason: DropReason) async throws {
        let test = try TestPipeline { limits }
        test.pipeline.track("Event", ["a": ["long name": "long text"], "b": 2])
        test.pipeline.track("E", ["a": 1])
        #expect(try await test.event().name == "E")
        #expect(test.pipeline.ledger.dropped == [reason: 1])
        #expect(test.pipeline.ledger.sanitized.isEmpty)
    }

    @Test("if names are equal after cutting, one property stays and the other is counted")
    func equalNamesKeepOneProperty() throws {
        let limits = Limits(propertyName: .cut(to: 1))
        let event = try #require(limits.processed("Event", ["ab": 1, "ac": 2]))
        #expect(event.properties == ["a": 2])
        #expect(Set(event.reportedSanitizations) == [.cutPropertyName, .droppedProperty])
    }

    @Test(
        "lengths are UTF-16 code units, and a cut is between two characters",
        arguments: [
            ("äöü", "äö"), ("😀😀😀", "😀"), ("e\u{301}e", "e\u{301}"), ("ae\u{301}", "a"), ("a😀", "a"), ("ab", "ab"),
            ("", ""), ("e\u{301}\u{302}\u{303}", "e\u{301}"), ("\u{2764}\u{200D}\u{1F525}", "\u{2764}"),
        ])
    func lengthsAreCodeUnits(text: String, cut: String) throws {
        let event = try #require(Limits(string: .cut(to: 2)).processed("Event", ["a": .string(text)]))
        #expect(event.properties == ["a": .string(cut)])
    }

    @Test(
        "an id is kept whole, because its beginning can be another id",
        arguments: [
            "$alias", "$original_id", "$id_value", "$group_key", "$item_id", "$product_id", "order_id", "$group_type",
        ], [Limits(.appCenter), Limits(string: .dropEvent(over: 20)), Limits(string: .setAside(over: 129))])
    func idsAreKeptWhole(name: String, limits: Limits) throws {
        let ids = ["1", "2"].map { PropertyValue.string(String(repeating: "z", count: 130) + $0) }
        for id in ids + [.array([ids[0], "x"]), .array([["y": ids[1]]])] {
            if id.string == nil, limits.nesting != nil { continue }
            let properties: Properties = [name: id, "$groups": ["household": id], "$identities": ["crm": id]]
            let event = try #require(limits.processed("Event", properties))
            #expect(event.properties == properties && event.reportedSanitizations.isEmpty)
            #expect(limits.processed("Event", ["name": id])?.properties != ["name": id])
        }
    }

    @Test("limits of zero leave nothing")
    func zeroLimitsLeaveNothing() throws {
        let limits = Limits(properties: .cut(to: 0), string: .cut(to: 0))
        #expect(try #require(limits.processed("Event", ["a": "b"])).properties.isEmpty)
    }
}
