import SluiceIdentity
import TestSupport
import Testing

@Suite("Identity: the ids of events")
struct IdentityTests {
    private let identity = Identity(persistedIn: .memory)

    @Test("an event has the identity of the moment of track, even if the identity changes later")
    func eventsKeepIdentityOfTheirMoment() async throws {
        let test = try TestPipeline { identity }
        test.pipeline.track("Before")
        try identity.login("a")
        test.pipeline.track("As A")
        try identity.login("b")
        test.pipeline.track("As B")
        try identity.logout()
        test.pipeline.track("After")
        let events = await test.events().filter { $0.name != "$SignUp" }
        #expect(events.map(\.loginID) == [nil, "a", "b", nil])
        #expect(events.map(\.distinctID) == [identity.anonymousID, "a", "b", identity.anonymousID])
        #expect(Set(events.map(\.anonymousID)) == [identity.anonymousID])
    }

    @Test(
        "an event with its own id keeps it",
        arguments: [
            (ids: [nil, "theirs", nil], distinctID: "theirs"),
            (ids: [nil, nil, "their login"], distinctID: "their login"),
            (ids: [nil, "theirs", "their login"], distinctID: "their login"),
            (ids: ["given", nil, nil], distinctID: "given"),
            (ids: ["given", "theirs", "their login"], distinctID: "given"),
        ] as [(ids: [String?], distinctID: String)])
    func eventKeepsItsOwnIDs(ids: [String?], distinctID: String) async throws {
        let identity = try Identity.loggedIn("ours")
        let test = try TestPipeline { identity }
        test.pipeline.track("Event") { event in
            event.distinctID = ids[0]
            event.anonymousID = ids[1]
            event.loginID = ids[2]
        }
        let event = try await test.event()
        #expect(event.distinctID == distinctID)
        #expect(event.anonymousID == ids[1])
        #expect(event.loginID == ids[2])
    }

    @Test("anonymous ids are random UUIDs of version 4")
    func anonymousIDsAreRandomUUIDs() throws {
        let zeros = Identity(persistedIn: .memory)
        _ = try TestPipeline(random: { 0 }) { zeros }
        #expect(zeros.anonymousID == "00000000-0000-4000-8000-000000000000")
        let ones = Identity(persistedIn: .memory)
        _ = try TestPipeline(random: { .max }) { ones }
        #expect(ones.anonymousID == "ffffffff-ffff-4fff-bfff-ffffffffffff")
        #expect(Identity(persistedIn: .memory).anonymousID != identity.anonymousID)
    }

    @Test(
        "an id of 255 characters is accepted, however many bytes it takes",
        arguments: ["x", "ä", "語", "😀"])
    func longestIDIsAccepted(character: String) async throws {
        let id = String(repeating: character, count: 255)
        let identity = try Identity.loggedIn(id)
        let test = try TestPipeline { identity }
        test.pipeline.track("Event")
        #expect(try await test.event().distinctID == id)
        #expect(test.pipeline.ledger.sanitized.isEmpty)
    }

    @Test("a second identity in one pipeline is an error")
    func secondIdentityThrows() throws {
        #expect(throws: SluiceError.self) {
            try TestPipeline {
                identity
                Identity(persistedIn: .memory)
            }
        }
    }

    @Test("concurrent logins never mix two identities")
    func concurrentLoginsMixNoIdentities() async throws {
        let test = try TestPipeline { identity }
        await test.trackOnTasks(200) { [identity] in
            for number in 0..<200 { try number % 3 == 0 ? identity.logout() : identity.login("user \(number)") }
        }
        let events = await test.events().filter { $0.name != "$SignUp" }
        #expect(events.count == 800)
        for event in events {
            #expect(event.anonymousID == identity.anonymousID)
            #expect(event.distinctID == event.loginID ?? event.anonymousID)
        }
    }
}
