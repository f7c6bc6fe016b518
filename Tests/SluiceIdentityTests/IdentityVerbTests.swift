import SluiceIdentity
import TestSupport
import Testing

/// Further ids, groups, and events about users and items.
@Suite struct IdentityVerbTests {
    private let identity: Identity
    private let test: TestPipeline

    init() throws {
        let identity = try Identity.loggedIn("a")
        self.identity = identity
        test = try TestPipeline { identity }
    }

    @Test("a bound id is on every event from then on, until it is unbound")
    func boundIDIsOnEveryEvent() async throws {
        test.pipeline.track("Before")
        try identity.bind("crm_id", to: "7")
        try identity.bind("mobile", to: "hash")
        test.pipeline.track("Bound")
        try identity.unbind("crm_id")
        try identity.unbind("crm_id")
        test.pipeline.track("After")
        let events = await test.events()
        #expect(events.map(\.name) == ["Before", "$BindID", "$BindID", "Bound", "$UnbindID", "After"])
        #expect(events[0].properties.isEmpty)
        #expect(events[1].properties["$id_kind"] == "crm_id" && events[1].properties["$id_value"] == "7")
        #expect(events[3].properties == ["$identities": ["crm_id": "7", "mobile": "hash"]])
        #expect(events[4].properties["$id_value"] == "7")
        #expect(events[5].properties == ["$identities": ["mobile": "hash"]])
    }

    @Test("a group is on every event from then on, until the user leaves it")
    func groupIsOnEveryEvent() async throws {
        try identity.join(group: "acme", ofType: "company", ["size": 12])
        try identity.join(group: "acme", ofType: "company")
        test.pipeline.track("In")
        try identity.join(group: "globex", ofType: "company")
        try identity.leave("company")
        test.pipeline.track("Out")
        let events = await test.events()
        #expect(events.map(\.name) == ["$GroupIdentify", "In", "$GroupIdentify", "Out"])
        #expect(events[0].properties["$group_set"] == ["size": 12])
        #expect(events[0].properties["$group_type"] == "company" && events[0].properties["$group_key"] == "acme")
        #expect(events[1].properties == ["$groups": ["company": "acme"]])
        #expect(events[3].properties.isEmpty)
    }

    @Test("ids and groups of one user do not pass to the next")
    func nextUserInheritsNothing() throws {
        for change in [{ try identity.logout() }, { try identity.login("b") }] {
            try identity.login("a")
            try identity.bind("crm_id", to: "7")
            try identity.join(group: "acme", ofType: "company")
            try change()
            #expect(identity.boundIDs.isEmpty && identity.groups.isEmpty)
        }
    }

    @Test("an id that is bound before a login belongs to the user who logs in")
    func earlierBoundIDBelongsToNewUser() throws {
        let identity = Identity(persistedIn: .memory)
        try identity.bind("crm_id", to: "7")
        try identity.login("a")
        #expect(identity.boundIDs == ["crm_id": "7"])
    }

    @Test("an event about another user gets neither ids nor groups")
    func eventsAboutOthersGetNothing() async throws {
        try identity.bind("crm_id", to: "7")
        test.pipeline.track("Theirs") { $0.loginID = "b" }
        let event = try #require(await test.events().last)
        #expect(event.name == "Theirs" && event.properties.isEmpty)
    }

    @Test("more than 32 ids or groups are refused")
    func idsAndGroupsAreBounded() throws {
        for number in 0..<32 {
            try identity.bind("kind \(number)", to: "x")
            try identity.join(group: "x", ofType: "type \(number)")
        }
        #expect(throws: SluiceError.self) { try identity.bind("one more", to: "x") }
        #expect(throws: SluiceError.self) { try identity.join(group: "x", ofType: "one more") }
        #expect(identity.boundIDs.count == 32 && identity.groups.count == 32)
    }

    @Test("the verbs about users and items, and an alias, track events of the user")
    func profileAndItemVerbsTrackEvents() async throws {
        identity.profile.set(["plan": "pro"])
        identity.profile.setOnce(["first_seen": "today"])
        try identity.profile.increment(["logins": 1, "spent": 2.5])
        identity.profile.append(["tags": ["a", "b"], "city": "Rome"])
        identity.profile.unset("plan", "city")
        let names = ["plan"]
        identity.profile.unset(names)
        identity.profile.delete()
        try identity.setItem("book", "7", ["title": "A"])
        try identity.deleteItem("book", "7")
        try identity.alias("old-42")
        let events = await test.events()
        let expected: [(String, Properties)] = [
            ("$ProfileSet", ["$set": ["plan": "pro"]]), ("$ProfileSetOnce", ["$set_once": ["first_seen": "today"]]),
            ("$ProfileIncrement", ["$increment": ["logins": 1, "spent": 2.5]]),
            ("$ProfileAppend", ["$append": ["tags": ["a", "b"], "city": ["Rome"]]]),
            ("$ProfileUnset", ["$unset": ["plan", "city"]]), ("$ProfileUnset", ["$unset": ["plan"]]),
            ("$ProfileDelete", [:]),
            ("$ItemSet", ["$item_type": "book", "$item_id": "7", "$item": ["title": "A"]]),
            ("$ItemDelete", ["$item_type": "book", "$item_id": "7"]), ("$Alias", ["$alias": "old-42"]),
        ]
        #expect(events.map(\.name) == expected.map(\.0))
        #expect(events.map(\.properties) == expected.map(\.1))
        #expect(events.allSatisfy { $0.distinctID == "a" })
    }

    @Test("an increment that is not a number is refused")
    func incrementRefusesNonNumbers() async throws {
        let error = #expect(throws: SluiceError.self) { try identity.profile.increment(["logins": "one"]) }
        #expect(error?.code == .invalidArgument)
        #expect(await test.events().isEmpty)
    }
}
