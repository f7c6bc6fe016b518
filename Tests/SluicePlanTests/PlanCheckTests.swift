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

    @Test("a dead letter is sent when a later plan allows it")
    func replayedLettersAreChecked() async throws {
        let store = MemoryStore()
        let first = try Pipeline {
            PlanCheck(try plan(), violations: .reject)
            Transform { $0.properties["screen"] = "cart" }
            store
            PlanGate(try plan(), NullTransport())
        }
        first.track("Purchase", ["amount": -1])
        await first.flush()
        let letter = try #require(try await first.deadLetters().first)
        _ = await first.shutdown()
        let transport = ScriptedTransport()
        let later = PlanGate(try shop(#""amount": {"type": "number"}"#), transport)
        let verdicts = try await later.send(Batch(id: 1, events: [letter.line]))
        #expect(verdicts == .all(.accepted))
        // The check has not seen the property of the stage below it.
        #expect(try transport.accepted().map(\.properties) == [["amount": -1, "screen": "cart"]])
    }

    @Test("the gate passes on a string that looks like its mark")
    func gatePassesOnStrings() async throws {
        let transport = ScriptedTransport()
        let line = try EventLine(
            Event(name: "E", properties: ["a": "\"$plan_violation\":\"", "b": ["$plan_violation": "x"]]))
        let verdicts = try await PlanGate(try plan(), transport).send(Batch(id: 1, events: [line]))
        #expect(verdicts == .all(.accepted))
        #expect(transport.batches.first?.events == [line])
    }

    @Test(
        "the stage keeps the promises of a processor, with each action",
        arguments: [PlanCheck.Action.count, .drop, .reject])
    func stageKeepsPromises(action: PlanCheck.Action) async throws {
        let plan = try plan()
        try await ProcessorContract.check { PlanCheck(plan, unknown: action, violations: action) }
    }
}
