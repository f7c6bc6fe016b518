import Sluice
import SluiceIdentity
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

@Suite("A placeholder is no id, wherever an id can be set")
struct MissingIDTests {
    private static let placeholders = [
        "", " \t", "\u{200B}", "null", "undefined", "NaN", "[object Object]", "0",
        "00000000-0000-0000-0000-000000000000",
        "None", "N/A", "-1", "<nil>", "anonymous",
    ]

    @Test("each verb of an identity refuses it, and nothing changes", arguments: placeholders)
    func verbsRefuse(id: String) async throws {
        let identity = Identity(persistedIn: .memory, anonymousIDFrom: [AnonymousIDSource { id }])
        let anonymousID = try #require(identity.anonymousID)
        #expect(anonymousID != id)
        let test = try TestPipeline { identity }
        let verbs: [() throws -> Void] = [
            { try identity.login(id) }, { try identity.setAnonymousID(id) }, { try identity.alias(id) },
            { try identity.bind("email", to: id) }, { try identity.join(group: id, ofType: "company") },
            { try identity.setItem("book", id, ["title": "x"]) }, { try identity.deleteItem("book", id) },
        ]
        for verb in verbs {
            let error = #expect(throws: SluiceError.self) { try verb() }
            #expect(error?.code == .invalidArgument)
        }
        #expect(identity.distinctID == anonymousID && identity.boundIDs.isEmpty && identity.groups.isEmpty)
        #expect(await test.events().isEmpty)
    }

    @Test("the name of a kind of ids, of groups or of items isn't an id", arguments: ["email", "id", "none", "0"])
    func namesAreAllowed(name: String) throws {
        let identity = Identity(persistedIn: .memory)
        try identity.bind(name, to: "a")
        try identity.join(group: "b", ofType: name)
        try identity.setItem(name, "c", [:])
        #expect(identity.boundIDs == [name: "a"] && identity.groups == [name: "b"])
    }

    @Test("a scope, a configured event, a transform and a plugin's event are counted", arguments: placeholders)
    func eventsAreCounted(id: String) async throws {
        struct Maker: Processor {
            let context = PluginContext()

            func process(_ event: inout Event) -> Disposition {
                if event.name == "Scope" { context.insert("Inserted", before: event) { $0.anonymousID = "0" } }
                return .keep
            }
        }
        let test = try TestPipeline {
            UserScope()
            Transform { if $0.name == "Transformed" { $0.loginID = id } }
            Maker()
        }
        UserScope.with(distinctID: id) { _ = test.pipeline.track("Scope") }
        test.pipeline.track("Configured") { ($0.distinctID, $0.anonymousID, $0.loginID) = (id, id, id) }
        test.pipeline.track("Replaced") {
            $0 = Event(id: $0.id, name: $0.name, time: $0.time, distinctID: id, loginID: "b")
        }
        test.pipeline.track("Transformed")
        await test.pipeline.flush()
        #expect(test.pipeline.ledger.sanitized == [.droppedID: 5])
        let events = await test.events()
        #expect(events.map(\.name) == ["Inserted", "Scope", "Configured", "Replaced", "Transformed"])
        #expect(events.allSatisfy { $0.distinctID == nil && $0.anonymousID == nil })
        #expect(events.map(\.loginID) == [nil, nil, nil, "b", nil])
    }

    @Test(
        "an event that loses a placeholder gets the ids of the identity, like one without an id",
        arguments: placeholders)
    func identityFillsIn(id: String) async throws {
        let test = try TestPipeline { try Identity.loggedIn("customer-42") }
        test.pipeline.track("Event") { $0.distinctID = id }
        let event = try await test.event()
        #expect(event.distinctID == "customer-42" && event.loginID == "customer-42" && event.anonymousID != nil)
    }
}
