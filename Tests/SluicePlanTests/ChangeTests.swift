import SluicePlan
import Testing

@Suite("TrackingPlan: changes and the page")
struct ChangeTests {
    private func changes(_ old: String, _ new: String) throws -> [String] {
        try shop(#""p": \#(new)"#).changes(since: shop(#""p": \#(old)"#)).map { "\($0)\($0.isBreaking ? "!" : "")" }
    }

    @Test(
        "a rule that excludes values breaks events, and a wider one doesn't",
        arguments: [
            (#"{"type": "integer"}"#, #"{"type": "number"}"#, ["Purchase.p has the type number now, and had integer"]),
            (#"{"type": "number"}"#, #"{"type": "integer"}"#, ["Purchase.p has the type integer now, and had number!"]),
            (#"{"enum": ["a"]}"#, #"{"type": "string"}"#, ["Purchase.p has the type string now, and had choice"]),
            (
                #"{"enum": ["abc"]}"#, #"{"type": "string", "maxLength": 2}"#,
                ["Purchase.p has the type string now, and had choice!"]
            ),
            (
                #"{"enum": ["a", "b"]}"#, #"{"enum": ["b", "c"]}"#,
                ["Purchase.p lost values: a!", "Purchase.p has new values: c"]
            ),
            // Another spelling of the same characters is another value.
            (
                #"{"enum": ["é"]}"#, #"{"enum": ["e\u0301"]}"#,
                ["Purchase.p lost values: é!", "Purchase.p has new values: é"]
            ),
            (#"{"type": "string"}"#, #"{"type": "string", "maxLength": 9}"#, ["Purchase.p has at most 9 characters!"]),
            (#"{"type": "string", "maxLength": 9}"#, #"{"type": "string"}"#, ["Purchase.p has any length"]),
            (
                #"{"type": "number", "minimum": 1}"#, #"{"type": "number", "minimum": 0}"#,
                ["Purchase.p has the minimum 0"]
            ),
            (
                #"{"type": "number", "maximum": 5}"#, #"{"type": "number", "maximum": 4}"#,
                ["Purchase.p has the maximum 4!"]
            ),
            (
                #"{"type": "string", "personal": "hash"}"#, #"{"type": "string"}"#,
                ["Purchase.p is kept now, and was hashed!"]
            ),
            (#"{"type": "string"}"#, #"{"type": "string", "personal": "keep", "description": "x"}"#, []),
            (
                #"{"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}"#,
                #"{"type": "array", "items": {"type": "object", "properties": {"b": {"type": "string"}}}}"#,
                ["Purchase.p[].a is removed!", "Purchase.p[].b is new"]
            ),
            (
                #"{"type": "object"}"#, #"{"type": "object", "properties": {"a": {"type": "string"}}}"#,
                ["Purchase.p.a is new!"]
            ),
        ])
    func rulesThatExcludeValuesBreak(old: String, new: String, expected: [String]) throws {
        #expect(try changes(old, new) == expected)
    }

    @Test("events and required properties")
    func eventsAndRequiredProperties() throws {
        let old = try shop(#""a": {"type": "string"}, "b": {"type": "string"}"#, required: #"["b"]"#)
        let new = try shop(
            #""a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"}"#, required: #"["a", "c"]"#)
        #expect(
            new.changes(since: old).map { "\($0) \($0.isBreaking)" } == [
                "Purchase.a is required now true", "Purchase.b isn't required any more false",
                "Purchase.c is new and required true",
            ])
        // The event had no other properties before, so an optional one breaks nothing.
        let changes = try shop(#""a": {"type": "string"}"#).changes(since: shop(""))
        #expect(changes.map { "\($0) \($0.isBreaking)" } == ["Purchase.a is new false"])
        let empty = try TrackingPlan(json: Array(#"{"plan": "a", "version": 1, "events": {}}"#.utf8))
        #expect(empty.changes(since: old).map(\.isBreaking) == [true])
        #expect(old.changes(since: empty).map(\.isBreaking) == [false])
    }

    @Test("a name of plugins is free unless the plan lists it")
    func pluginNamesAreFree() throws {
        let rules = ["", #""$screen": {"type": "string"}"#, #""$screen": {"type": "string", "personal": "hash"}"#]
        let plans = try rules.map { try shop($0) }
        #expect(plans[1].changes(since: plans[0]).map(\.isBreaking) == [true])
        #expect(plans[0].changes(since: plans[1]).map(\.isBreaking) == [false])
        // Personal data would no longer be hashed.
        #expect(plans[0].changes(since: plans[2]).map(\.isBreaking) == [true])
        let events = try ["{}", #"{"$AppStart": {"description": "The app was started."}}"#].map {
            try TrackingPlan(json: Array(#"{"plan": "a", "version": 1, "events": \#($0)}"#.utf8))
        }
        #expect(events[1].changes(since: events[0]).map(\.isBreaking) == [true])
        #expect(events[0].changes(since: events[1]).map(\.isBreaking) == [false])
    }

    @Test("the page lists personal data at each depth of arrays")
    func pageListsNestedPersonalData() throws {
        let plan = try shop(
            #"""
            "a": {"type": "array", "items": {"type": "array", "items": {"type": "string", "personal": "hash"}}},
            "b": {"type": "array", "items": {"type": "array", "items":
                {"type": "object", "properties": {"mail": {"type": "string", "personal": "drop"}}}}},
            "c": {"type": "array", "personal": "keep", "items": {"type": "string", "personal": "hash"}}
            """#)
        let rows = plan.markdown.split(separator: "\n").filter { $0.hasPrefix("| Purchase |") }
        #expect(
            rows == [
                #"| Purchase | a\[\]\[\] |  | hash |  |"#, #"| Purchase | b\[\]\[\].mail |  | drop |  |"#,
                "| Purchase | c |  | keep |  |", #"| Purchase | c\[\] |  | hash |  |"#,
            ])
    }

    @Test("the page lists events, rules and personal data, and nothing in it is markup")
    func pageListsPersonalData() throws {
        let plan = try shop(
            #""e|mail": {"type": "string", "personal": "hash", "description": "<b>\nMail"}, "n": {"type": "integer", "minimum": 1}"#,
            required: #"["n"]"#)
        #expect(
            plan.markdown == #"""
                # shop

                Version 3, 1 event.

                ## Purchase

                Paid.

                | property | type | required | rules | description |
                |---|---|---|---|---|
                | e\|mail | string |  | personal: hash | \<b\> Mail |
                | n | integer | yes | at least 1 |  |

                ## Personal data

                | event | property | owner | treatment | description |
                |---|---|---|---|---|
                | Purchase | e\|mail |  | hash | \<b\> Mail |

                """#)
    }
}
