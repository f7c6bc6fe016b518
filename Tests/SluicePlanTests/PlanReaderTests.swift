import SluicePlan
import Testing

@Suite("TrackingPlan: its file")
struct PlanReaderTests {
    @Test("a plan has its name, its version and its events in the order of the file")
    func planIsRead() throws {
        let text = #"""
            {"plan": "shop", "version": 7, "access": "public", "description": "All events.", "events": {
              "Z": {"description": "One."}, "A": {"description": "Two.", "owner": "team", "since": 7, "type": "object"}}}
            """#
        let plan = try TrackingPlan(json: Array(text.utf8))
        #expect(plan.name == "shop" && plan.version == 7)
        #expect(plan.eventNames == ["Z", "A"])
        #expect(plan.event(named: "A")?.owner == "team")
        #expect(plan.access == .public)
    }

    @Test(
        "a mistake is an error with the file, the line, the column and the reason",
        arguments: [
            ("{", "1:2: not JSON that can be read: no name at byte 1"),
            ("[]", "1:1: the plan must be an object"),
            (
                "{\n  \"plan\": \"shop\", \"version\": 0, \"events\": {}}",
                "2:19: \"version\" must be a whole number of at least 1"
            ),
            (#"{"plan": "shop", "version": 1}"#, "1:1: \"events\" is missing"),
            (
                #"{"plan": "shop", "version": 1, "events": {}, "team": 1}"#,
                "1:46: \"team\" isn't supported here: use one of \"plan\", \"version\", \"access\", \"description\", \"events\""
            ),
            (#"{"plan": "a", "version": 1, "events": {"E": {}}}"#, "1:40: \"description\" is missing"),
            (#"{"plan": "a", "plan": "b", "version": 1, "events": {}}"#, "1:55: not JSON that can be read: "),
        ])
    func mistakesHavePlaces(text: String, message: String) {
        let error = #expect(throws: SluiceError.self) { try TrackingPlan(json: Array(text.utf8), file: "a.json") }
        #expect(error?.code == .invalidPlan)
        #expect(error?.message.hasPrefix("a.json:\(message)") == true, "\(error?.message ?? "")")
    }

    @Test(
        "a keyword that isn't supported, or has no meaning beside another one, is an error",
        arguments: [
            (#""a": {"type": "string", "pattern": "x"}"#, "\"pattern\" isn't supported here"),
            (#""a": {"type": ["string", "null"]}"#, "\"type\" must be one of"),
            (#""a": {"type": "null"}"#, "\"type\" must be one of"),
            (#""a": {}"#, "a property needs \"type\" or \"enum\""),
            (#""a": {"type": "string", "minimum": 1}"#, "\"minimum\" has no meaning for a value of type string"),
            (#""a": {"type": "number", "maxLength": 1}"#, "\"maxLength\" has no meaning"),
            (#""a": {"type": "number", "items": {}}"#, "\"items\" has no meaning"),
            (#""a": {"enum": ["x"], "maxLength": 1}"#, "\"maxLength\" has no meaning for \"enum\""),
            (#""a": {"type": "string", "properties": {}}"#, "\"properties\" has no meaning"),
            (#""a": {"type": "string", "maxLength": -1}"#, "\"maxLength\" must be a whole number of at least 0"),
            (#""a": {"type": "string", "maxLength": 1.5}"#, "\"maxLength\" must be a whole number of at least 0"),
            (#""a": {"type": "string", "minLength": 2, "maxLength": 1}"#, "\"minLength\" is more than \"maxLength\""),
            (#""a": {"type": "number", "minimum": 2, "maximum": 1}"#, "\"minimum\" is more than \"maximum\""),
            (#""a": {"type": "number", "minimum": 9007199254740994}"#, "\"minimum\" must be a number of at most"),
            (#""a": {"type": "string", "format": "email"}"#, "\"format\" must be \"date-time\""),
            (#""a": {"type": "integer", "format": "date-time"}"#, "\"format\" must be \"date-time\""),
            (#""a": {"enum": []}"#, "\"enum\" needs a value"),
            (#""a": {"enum": ["x", 1]}"#, "\"enum\" must have strings only"),
            (#""a": {"enum": [true]}"#, "\"enum\" must have strings only"),
            (#""a": {"enum": ["x", "x"]}"#, "\"enum\" has a value twice"),
            (#""a": {"type": "integer", "enum": ["x"]}"#, "\"enum\" has values of another type"),
            (#""a": {"type": "array"}"#, "\"items\" is missing"),
            (#""a": {"type": "integer", "personal": "hash"}"#, "\"hash\" is for strings only"),
            (#""a": {"type": "string", "personal": "yes"}"#, "\"personal\" must be one of"),
            (#""a": {"type": "array", "items": {"type": "string", "personal": "drop"}}"#, "\"drop\" must stand beside"),
            (#""a": {"type": "string", "since": 4}"#, "\"since\" is later than the plan's version, 3"),
            (#""": {"type": "string"}"#, "a property has a name that is empty or blank"),
        ])
    func unsupportedKeywordsAreErrors(properties: String, reason: String) {
        let error = #expect(throws: SluiceError.self) { try shop(properties) }
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }

    @Test(
        "a name that is hardly meant is an error, for events, properties and members",
        arguments: [
            "", " ", "address ", " address", "address\\n", "\\taddress", "\u{FEFF}address", "address\u{200B}",
            "\\u00a0address",
            "address\u{3000}", "add\\u0000ress", "add\\u001bress", "\u{3164}", "address\\u2028",
        ])
    func flawedNamesAreErrors(name: String) {
        let rule = #""\#(name)": {"type": "string", "personal": "drop"}"#
        for properties in [rule, #""a": {"type": "object", "properties": {\#(rule)}}"#] {
            let error = #expect(throws: SluiceError.self) { try shop(properties) }
            #expect(error?.message.contains("a property has a name that") == true, "\(error?.message ?? "")")
        }
        let plan = #"{"plan": "shop", "version": 1, "events": {"\#(name)": {"description": "Ordered."}}}"#
        let error = #expect(throws: SluiceError.self) { try TrackingPlan(json: Array(plan.utf8)) }
        #expect(error?.message.contains("an event has a name that") == true, "\(error?.message ?? "")")
    }

    @Test(
        "\"required\" lists properties of the plan, each once", arguments: [#"["b"]"#, #"["a", "a"]"#, "[1]", #""a""#])
    func requiredListsProperties(required: String) {
        #expect(throws: SluiceError.self) { try shop(#""a": {"type": "string"}"#, required: required) }
    }

    @Test("a place deep in the file is found, after values of each kind")
    func deepPlacesAreFound() {
        let text = #"""
            {"plan": "shop", "version": 1, "description": "\"events\": {", "events": {
              "A": {"description": "é", "properties": {"a": {"enum": ["]", "}"]}}},
              "B": {"description": "B", "properties": {"b": {"type": "array", "items": {"enum": ["x", "y", 7]}}}}}}
            """#
        let error = #expect(throws: PlanError.self) { try TrackingPlan(locating: Array(text.utf8), "b.json") }
        #expect(error?.description == "b.json:3:96: error: \"enum\" must have strings only, or whole numbers only")
    }
}
