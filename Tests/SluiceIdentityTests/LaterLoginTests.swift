import Sluice
import SluiceIdentity
import TestSupport
import Testing

/// Logins after the first one under an anonymous id.
@Suite struct LaterLoginTests {
    private func events(_ use: (Identity) throws -> Void) async throws -> [Event] {
        let identity = try Identity.loggedIn("a")
        let test = try TestPipeline { identity }
        try use(identity)
        return await test.events()
    }

    @Test("a login of the same user with properties sets them in the profile")
    func sameUserSetsProfile() async throws {
        let events = try await events { identity in
            try identity.login("a", ["plan": "pro"])
            try identity.logout()
            try identity.login("a", ["plan": "free"])
            try identity.login("a")
        }
        #expect(events.map(\.name) == ["$ProfileSet", "$ProfileSet"])
        #expect(events.map(\.properties) == [["$set": ["plan": "pro"]], ["$set": ["plan": "free"]]])
        #expect(events.allSatisfy { $0.loginID == "a" })
    }

    @Test("a login in place of another user tracks one $SignUp that says so, with the properties of the login")
    func otherUserSwitches() async throws {
        let events = try await events { identity in
            try identity.login("b", ["plan": "pro"])
            try identity.login("c")
        }
        #expect(events.map(\.name) == ["$SignUp", "$SignUp"])
        #expect(events.map(\.loginID) == ["b", "c"])
        #expect(events.map { $0.properties["$switches_user"] } == [true, true])
        #expect(events.map { $0.properties["$set"] } == [["plan": "pro"], nil])
        #expect(events.first?.properties["$original_id"] == events.first?.anonymousID.map { .string($0) })
    }

    @Test("a first sign-up that is still pending stays the join of its own user")
    func pendingSignUpStays() async throws {
        let identity = Identity(persistedIn: .memory)
        try identity.login("a", ["plan": "free"])
        try identity.login("b", ["plan": "pro"])
        let test = try TestPipeline { identity }
        let events = await test.events()
        #expect(events.map(\.name) == ["$SignUp", "$SignUp"] && identity.loginID == "b")
        #expect(events.map(\.loginID) == ["a", "b"])
        #expect(events.map { $0.properties["$switches_user"] } == [nil, true])
        #expect(events.map { $0.properties["$set"] } == [["plan": "free"], ["plan": "pro"]])
    }

    @Test(
        "a pending sign-up has the bound ids of its own user, and none of the next one",
        arguments: [(["a"], ["crm_id": "A-1"]), (["a", "b"], nil)] as [([String], PropertyValue?)])
    func pendingSignUpHasOwnExtras(users: [String], identities: PropertyValue?) async throws {
        let identity = Identity(persistedIn: .memory)
        for user in users { try identity.login(user) }
        try identity.bind("crm_id", to: "A-1")
        let events = await (try TestPipeline { identity }).events()
        #expect(events.first?.loginID == "a" && events.first?.properties["$identities"] == identities)
    }
}
