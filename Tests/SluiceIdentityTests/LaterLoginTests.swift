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

    @Test("a login of the current user with properties sets them in the profile, and one after a logout has them")
    func sameUserSetsProfile() async throws {
        let events = try await events { identity in
            try identity.login("a", ["plan": "pro"])
            try identity.logout()
            try identity.login("a", ["plan": "free"])
            try identity.login("a")
        }
        #expect(events.map(\.name) == ["$ProfileSet", "$SignUp"])
        #expect(events.map { $0.properties["$set"] } == [["plan": "pro"], ["plan": "free"]])
        #expect(events.allSatisfy { $0.loginID == "a" })
    }

    /// Logins by their ids, `out` for a logout, `new id`, `id=` and `reset`; and the users whose logins are tracked: `!` for the first
    /// one under an anonymous id.
    private static let stories: [(steps: [String], users: [String])] = [
        (["u1", "out", "u2", "out", "u2", "u3", "out", "u1"], ["!u1", "u2", "u2", "u3", "u1"]),
        (["u1", "u1", "out", "u1", "out", "out", "u1"], ["!u1", "u1", "u1"]),
        (["u1", "out", "new id", "u2", "out", "new id", "u1"], ["!u1", "!u2", "!u1"]),
        (["u1", "new id", "out", "u2", "u1"], ["!u1", "!u2", "u1"]),
        (["id=a1", "u1", "a1", "u2"], ["!u1", "a1", "u2"]), (["id=a1", "u1", "out", "a1"], ["!u1", "a1"]),
        (["id=a1", "a1", "u1", "a1"], ["u1", "a1"]),
        (["u1", "reset", "u2", "out", "u1", "reset", "out", "u1"], ["!u1", "!u2", "u1", "!u1"]),
        (["u1", "reset", "u1", "out", "id=a1", "u2"], ["!u1", "!u1", "!u2"]), (["u1", "new id", "u1"], ["!u1"]),
        (["id=a1", "a1", "out"], []), (["u1", "u2", "u3"], ["!u1", "u2", "u3"]),
    ]

    @Test(
        "every login from no user or another one tracks one $SignUp, which joins ids only under a new anonymous id",
        arguments: stories, [false, true])
    func everyLoginIsTracked(story: (steps: [String], users: [String]), isEachALaunch: Bool) async throws {
        let directory = TemporaryDirectory()
        var events: [Event] = []
        let steps = story.steps
        for steps in isEachALaunch ? steps.map({ [$0] }) : [steps] {
            let identity = Identity(persistedIn: .file(directory.path))
            let test = try TestPipeline { identity }
            for step in steps {
                switch step {
                case "out": try identity.logout()
                case "new id": try identity.resetAnonymousID()
                case "reset": try identity.reset()
                case _ where step.hasPrefix("id="): try identity.setAnonymousID(String(step.dropFirst(3)))
                default: try identity.login(step)
                }
            }
            events += await test.events()
        }
        let users = events.map { ($0.properties["$switches_user"] == true ? "" : "!") + ($0.loginID ?? "") }
        #expect(users == story.users && events.allSatisfy { $0.name == "$SignUp" && $0.properties["$set"] == nil })
        #expect(events.allSatisfy { $0.properties["$original_id"]?.string == $0.anonymousID })
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
