import SluicePlan
import SluiceTesting
import TestSupport
import Testing

@Suite("TrackingPlan: the violations of an event")
struct ViolationTests {
    @Test("an event that conforms has none, in any order of its properties")
    func conformingEventHasNone() throws {
        let plan = try shop(
            #""sku": {"type": "string"}, "amount": {"type": "number"}, "plan": {"enum": ["free"]}"#,
            required: #"["sku"]"#)
        #expect(violations(plan, ["sku": "A", "amount": 1, "plan": "free"]) == [])
        #expect(violations(plan, ["plan": "free", "$plugin": .null, "amount": 1.5, "sku": "A"]) == [])
    }

    @Test(
        "each rule has its reason",
        arguments: [
            (#"{"type": "string", "maxLength": 2}"#, "abc", "has more than 2 characters"),
            (#"{"type": "string", "maxLength": 1}"#, "🎉🎉", "has more than 1 character"),
            (#"{"type": "string", "minLength": 2}"#, "🎉", "has less than 2 characters"),
            (#"{"type": "string"}"#, 1, "isn't a string"),
            (#"{"type": "integer"}"#, 1.5, "isn't an integer"),
            (#"{"type": "integer"}"#, true, "isn't an integer"),
            (#"{"type": "number"}"#, "1", "isn't a number"),
            (#"{"type": "number", "minimum": 0.5}"#, 0, "is less than 0.5"),
            (
                #"{"type": "integer", "maximum": 9007199254740992}"#, 9_007_199_254_740_993,
                "is more than 9007199254740992"
            ),
            (#"{"type": "integer", "minimum": -1}"#, -2, "is less than -1"),
            (#"{"type": "boolean"}"#, 1, "isn't true or false"),
            (#"{"type": "string", "format": "date-time"}"#, "2026-02-29T00:00:00Z", "isn't a date"),
            (#"{"enum": ["free"]}"#, "Free", "isn't one of its values"),
            (#"{"enum": ["é"]}"#, "e\u{301}", "isn't one of its values"),
            (#"{"enum": [1]}"#, true, "isn't one of its values"),
            (#"{"type": "array", "items": {"type": "string"}}"#, "x", "isn't an array"),
            (#"{"type": "array", "items": {"type": "string"}, "maxItems": 1}"#, ["x", "y"], "has more than 1 element"),
            (#"{"type": "object"}"#, ["x"], "isn't an object"),
            (#"{"type": "string"}"#, .null, "isn't a string"),
        ] as [(String, PropertyValue, String)])
    func rulesHaveReasons(rule: String, value: PropertyValue, reason: String) throws {
        #expect(violations(try shop(#""p": \#(rule)"#), ["p": value]) == ["Purchase.p \(reason)"])
    }

    @Test(
        "values that JSON Schema accepts conform",
        arguments: [
            (#"{"type": "integer", "maximum": 1}"#, 1.0), (#"{"type": "number"}"#, 1), (#"{"enum": [1]}"#, 1.0),
            (#"{"type": "string", "minLength": 24, "maxLength": 24}"#, .date(Timestamp(milliseconds: 0))),
            (#"{"type": "string", "format": "date-time"}"#, .date(Timestamp(milliseconds: 0))),
            (#"{"type": "string", "format": "date-time"}"#, "2026-11-21T05:55:16+02:00"),
            (#"{"type": "string", "format": "date-time"}"#, "2026-11-21t05:55:16.5z"),
            (#"{"type": "string", "maxLength": 2}"#, "🎉🎉"), (#"{"type": "object"}"#, ["any": ["x": 1]]),
        ] as [(String, PropertyValue)])
    func acceptedValuesConform(rule: String, value: PropertyValue) throws {
        #expect(violations(try shop(#""p": \#(rule)"#), ["p": value]) == [])
    }

    @Test("places in arrays and objects are named")
    func nestedPlacesAreNamed() throws {
        let item = #"{"type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"]}"#
        let plan = try shop(#""items": {"type": "array", "items": \#(item)}, "one": \#(item)"#)
        let found = violations(plan, ["items": [["sku": 1], "x", ["other": 1]], "one": ["$x": 1]])
        #expect(
            found == [
                "Purchase.items[].sku isn't a string", "Purchase.items[] isn't an object",
                "Purchase.items[].other isn't in the plan", "Purchase.items[].sku is missing",
                "Purchase.one.sku is missing",
            ])
    }

    @Test("events and properties that the plan doesn't have are unknown, except those of plugins")
    func unknownNamesAreFound() throws {
        let plan = try shop("")
        #expect(plan.violations(of: Event(name: "$AppStart", properties: [:])).isEmpty)
        let event = try #require(plan.violations(of: Event(name: "Purchased")).first)
        #expect(event.isUnknown && event.description == "Purchased isn't in the plan")
        #expect(violations(plan, ["a": 1, "$b": 1]) == ["Purchase.a isn't in the plan"])
    }

    @Test("stored events conform with hashed, removed and unchanged personal data")
    func storedPersonalDataConforms() throws {
        let plan = try shop(
            #"""
            "email": {"type": "string", "maxLength": 40, "personal": "hash"},
            "phone": {"type": "string", "personal": "drop"},
            "cards": {"type": "array", "items": {"type": "string", "maxLength": 4, "personal": "hash"}}
            """#, required: #"["email", "phone"]"#)
        let values: Properties = ["email": "jo@example.com", "phone": "1", "cards": ["1234"]]
        let (checked, unchecked) = (RecordingStore(), RecordingStore())
        try checked.pipeline(PlanCheck(plan)).track("Purchase", values)
        try unchecked.pipeline().track("Purchase", values)
        try expect(checked, conformsTo: plan)
        try expect(unchecked, conformsTo: plan)
        #expect(
            violations(plan, checked.events.first?.properties ?? [:]) == [
                "Purchase.email has more than 40 characters", "Purchase.cards[] has more than 4 characters",
                "Purchase.phone is missing",
            ])
        let wrong = Event(name: "Purchase", properties: ["phone": 1, "cards": [.null], "other": 1])
        #expect(
            plan.violations(ofStored: wrong).map(\.description) == [
                "Purchase.phone isn't a string", "Purchase.cards[] isn't a string", "Purchase.other isn't in the plan",
                "Purchase.email is missing",
            ])
    }

    @Test("a test expects that all recorded events conform")
    func recordedEventsConform() throws {
        let plan = try shop(#""sku": {"type": "string"}"#, required: #"["sku"]"#)
        let store = RecordingStore()
        let pipeline = try store.pipeline()
        pipeline.track("Purchase", ["sku": "A"])
        try expect(store, conformsTo: plan)
        pipeline.track("Purchase")
        pipeline.track("Purchase")
        let error = #expect(throws: SluiceError.self) { try expect(store, conformsTo: plan) }
        #expect(error?.code == .brokenContract)
        #expect(error?.message.hasSuffix("version 3:\n    Purchase.sku is missing (events: 2)") == true)
    }
}
