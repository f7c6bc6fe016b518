import SluiceMemory
import SluicePlan
import SluiceTesting
import TestSupport
import Testing

@Suite("PlanCheck: events against the plan")
struct PlanCheckTests {
    static let properties = #"""
        "amount": {"type": "number", "minimum": 0}, "email": {"type": "string", "personal": "hash"},
        "phone": {"type": "string", "personal": "drop"}, "name": {"type": "string", "personal": "keep"},
        "cards": {"type": "array", "items": {"type": "string", "personal": "hash"}},
        "to": {"type": "object", "properties": {"street": {"type": "string", "personal": "drop"}, "zip": {"type": "string"}}}
        """#

    private func plan() throws -> TrackingPlan { try shop(Self.properties) }

    @Test("counting keeps the event, and counts each place and no name that the plan doesn't have")
    func countingKeepsEvents() async throws {
        let test = try TestPipeline { PlanCheck(try plan()) }
        for name in ["a", "b"] { test.pipeline.track("Purchase", ["amount": -1, name: 2]) }
        test.pipeline.track("Sale", ["x": 1])
        test.pipeline.track("$AppStart")
        #expect(await test.events().count == 4)
        #expect(
            test.pipeline.ledger.sanitized == [.plan("Purchase.amount"): 2, .plan("Purchase.*"): 2, .plan("*"): 1])
        #expect(
            test.diagnostics.map(\.message) == [
                "PlanCheck: Purchase.amount is less than 0 (reported once)",
                "PlanCheck: Purchase.a isn't in the plan (reported once)",
                "PlanCheck: Purchase.b isn't in the plan (reported once)",
                "PlanCheck: Sale isn't in the plan (reported once)",
            ])
    }

    @Test("dropping removes unknown properties at each depth, and drops other events that differ")
    func droppingRemovesUnknown() async throws {
        let test = try TestPipeline { PlanCheck(try plan(), unknown: .drop, violations: .drop) }
        test.pipeline.track("Purchase", ["amount": 1, "a": 2, "$b": 3, "to": ["zip": "1", "c": 1]])
        test.pipeline.track("Purchase", ["amount": -1])
        test.pipeline.track("Sale")
        let events = await test.events()
        #expect(events.map(\.properties) == [["amount": 1, "$b": 3, "to": ["zip": "1"]]])
        #expect(test.pipeline.ledger.dropped == [.plan("Purchase.amount"): 1, .plan("*"): 1])
        #expect(test.pipeline.ledger.sanitized == [.plan("Purchase.*"): 1])
    }

    @Test("at most 100 differences are reported")
    func reportsAreLimited() async throws {
        let test = try TestPipeline { PlanCheck(try plan()) }
        for number in 0..<200 { test.pipeline.track("Sale \(number)") }
        #expect(await test.events().count == 200)
        #expect(test.diagnostics.count == 100)
        #expect(test.pipeline.ledger.sanitized == [.plan("*"): 200])
    }

    @Test("personal data is hashed or removed, also in values of a wrong type")
    func personalDataIsChanged() async throws {
        let test = try TestPipeline { PlanCheck(try plan(), hash: { "#\($0.utf8.count)" }) }
        test.pipeline.track(
            "Purchase",
            [
                "email": "jo@example.com", "phone": "1", "name": "Jo", "cards": ["a", 1, "ccc"],
                "to": ["street": "S", "zip": "1"],
            ])
        test.pipeline.track("Purchase", ["email": 5, "cards": "a", "to": ["S"]])
        let events = await test.events()
        #expect(
            events[0].properties == ["email": "#14", "name": "Jo", "cards": ["#1", .null, "#3"], "to": ["zip": "1"]])
        #expect(events[1].properties == [:])
        #expect(test.pipeline.ledger.sanitized[.personalData] == 2)
    }

    @Test("by default, a string is replaced by its SHA-256")
    func defaultHashIsSHA256() async throws {
        let test = try TestPipeline { PlanCheck(try plan()) }
        test.pipeline.track("Purchase", ["email": "abc"])
        let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        #expect(await test.events().first?.properties == ["email": .string(hash)])
    }

    @Test("rejected events become dead letters without a request, and the others are sent in order")
    func rejectedEventsAreSetAside() async throws {
        let transport = ScriptedTransport()
        let pipeline = try Pipeline {
            PlanCheck(try plan(), unknown: .reject, violations: .reject)
            MemoryStore()
            PlanGate(try plan(), transport)
        }
        pipeline.pauseDelivery()
        for amount in [1, -2, 3, 4] { pipeline.track("Purchase", ["amount": .int(amount), "email": "a"]) }
        pipeline.track("Purchase", ["x": "\"$plan_violation\":\"1\"", "amount": 5])
        pipeline.track("Sale")
        pipeline.resumeDelivery()
        await pipeline.flush()
        #expect(try transport.accepted().map { $0.properties["amount"] } == [1, 3, 4])
        let letters = try await pipeline.deadLetters()
        #expect(
            letters.map(\.reason) == [
                "Purchase.amount is less than 0", "Purchase.x isn't in the plan", "Sale isn't in the plan",
            ])
        #expect(try letters[0].event().properties["email"] != "a")
        let ledger = await pipeline.shutdown()
        #expect(ledger.isBalanced && ledger.routes[0].deadLetters == 3)
    }

    /// Returns the dead letter of a purchase that breaks the plan. A stage below the check adds the property `screen`.
    private func rejected(_ plan: TrackingPlan, _ properties: Properties) async throws -> EventLine {
        let pipeline = try Pipeline {
            PlanCheck(plan, unknown: .reject, violations: .reject)
            Transform { $0.properties["screen"] = "cart" }
            MemoryStore()
            PlanGate(plan, NullTransport())
        }
        pipeline.track("Purchase", properties)
        await pipeline.flush()
        let letter = try #require(try await pipeline.deadLetters().first)
        _ = await pipeline.shutdown()
        return letter.line
    }

    /// Sends a dead letter through the gate of a plan.
    private func replay(_ line: EventLine, _ plan: TrackingPlan) async throws -> Verdicts {
        try await PlanGate(plan, NullTransport()).send(Batch(id: 1, events: [line]))
    }

    @Test("a dead letter is sent when a later plan allows it")
    func replayedLettersAreChecked() async throws {
        let line = try await rejected(try plan(), ["amount": -1])
        let transport = ScriptedTransport()
        let later = PlanGate(try shop(#""amount": {"type": "number"}"#, version: 4), transport)
        let verdicts = try await later.send(Batch(id: 1, events: [line]))
        #expect(verdicts == .all(.accepted))
        // The check has not seen the property of the stage below it.
        #expect(try transport.accepted().map(\.properties) == [["amount": -1, "screen": "cart"]])
    }

    @Test(
        "a dead letter is set aside again if the property that differed breaks another rule of the later plan",
        arguments: [
            (
                #""p": {"type": "integer", "minimum": 10}"#, #""p": {"type": "integer", "minimum": 7}"#, 5,
                "Purchase.p is less than 7"
            ),
            (#""q": {"type": "string"}"#, #""p": {"type": "string"}"#, 5, "Purchase.p isn't a string"),
            (
                #""p": {"type": "string"}"#, #""p": {"type": "object", "properties": {"a": {"type": "string"}}}"#,
                ["a": 5], "Purchase.p.a isn't a string"
            ),
            (
                #""p": {"type": "array", "items": {"type": "string"}}"#, #""p": {"type": "string"}"#, [5],
                "Purchase.p isn't a string"
            ),
            (#""q": {"type": "string"}"#, #""r": {"type": "string"}"#, 5, "Purchase.p isn't in the plan"),
        ] as [(String, String, PropertyValue, String)])
    func otherRulesAreChecked(first: String, later: String, value: PropertyValue, reason: String) async throws {
        let line = try await rejected(try shop(first), ["p": value])
        #expect(try await replay(line, try shop(later, version: 4)) == .each([.unsendable(reason: reason)]))
    }

    @Test("if an event has more than ten differences, or a stage has cut their list, all of its properties are checked")
    func incompleteListsAreNotTrusted() async throws {
        func plan(_ narrow: ClosedRange<Int>, version: Int) throws -> TrackingPlan {
            let rules = (1...11).map { #""p\#($0)": {"type": "integer", "minimum": \#(narrow.contains($0) ? 10 : 0)}"# }
            return try shop(rules.joined(separator: ", "), version: version)
        }
        var properties: Properties = [:]
        for number in 1...11 { properties["p\(number)"] = 5 }
        let line = try await rejected(try plan(1...11, version: 3), properties)
        let reason = "Purchase.p11 is less than 10; Purchase.screen isn't in the plan"
        #expect(try await replay(line, try plan(11...11, version: 4)) == .each([.unsendable(reason: reason)]))
        let cut = Event(name: "Purchase", properties: ["p1": 5, "$plan_violation": "version 2 (Purch"])
        #expect(
            try await replay(try EventLine(cut), try plan(1...1, version: 4))
                == .each([.unsendable(reason: "Purchase.p1 is less than 10")]))
    }

    @Test(
        "an event whose only difference is in a removed or hashed value is rejected, and sent with a later plan",
        arguments: ["drop", "hash"])
    func removedDifferenceIsRejected(personal: String) async throws {
        let text = #""email": {"type": "string", "personal": "\#(personal)", "maxLength": 3}"#
        let transport = ScriptedTransport()
        let pipeline = try Pipeline {
            PlanCheck(try shop(text), violations: .reject)
            MemoryStore()
            PlanGate(try shop(text), transport)
        }
        pipeline.track("Purchase", ["email": "jo@example.com"])
        await pipeline.flush()
        let letter = try #require(try await pipeline.deadLetters().first)
        #expect(letter.reason == "Purchase.email has more than 3 characters")
        _ = await pipeline.shutdown()
        let later = PlanGate(try shop(text, version: 4), transport)
        #expect(try await later.send(Batch(id: 1, events: [letter.line])) == .all(.accepted))
        let lengths = try transport.accepted().map { $0.properties["email"]?.string?.utf8.count }
        #expect(lengths == [personal == "hash" ? 64 : nil])
    }

    @Test("the gate passes on a string that looks like its mark, and dollar signs in a row and at the beginning")
    func gatePassesOnStrings() async throws {
        let transport = ScriptedTransport()
        let bytes = Array("$$a$".utf8)
        let lines = [
            try EventLine(
                Event(name: "E", properties: ["a": "\"$plan_violation\":\"", "b": ["$plan_violation": "x"]])),
            try EventLine(Event(name: "$$", properties: ["$$": "US$$", "price": "$"])),
            EventLine(bytes: bytes[...], priority: .normal), EventLine(bytes: bytes[1...], priority: .normal),
        ]
        for batch in [[lines[0]], Array(lines[1...])] {
            let verdicts = try await PlanGate(try plan(), transport).send(Batch(id: 1, events: batch))
            #expect(verdicts == .all(.accepted) && transport.batches.last?.events == batch)
        }
    }

    @Test(
        "the stage keeps the promises of a processor, with each action",
        arguments: [PlanCheck.Action.count, .drop, .reject])
    func stageKeepsPromises(action: PlanCheck.Action) async throws {
        let plan = try plan()
        try await ProcessorContract.check { PlanCheck(plan, unknown: action, violations: action) }
    }
}
