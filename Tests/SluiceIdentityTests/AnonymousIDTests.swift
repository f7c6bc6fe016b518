import SluiceIdentity
import SluiceMemory
import TestSupport
import Testing

/// The sources of the anonymous id, and its persistence.
@Suite struct AnonymousIDTests {
    private let first = MemoryPlace()
    private let second = MemoryPlace()

    private func launch(_ sources: [AnonymousIDSource] = []) -> Identity {
        Identity(persistedIn: first.persistence.backedUp(by: second.persistence), anonymousIDFrom: sources)
    }

    @Test("the chain is the stored id, then each source in order, then a UUID")
    func anonymousIDComesFromSourcesInOrder() throws {
        let asked = Locked<[String]>([])
        func source(_ name: String, _ id: String?) -> AnonymousIDSource {
            AnonymousIDSource {
                asked.withLock { $0.append(name) }
                return id
            }
        }
        let identity = launch([source("advertising", nil), source("vendor", "vendor id"), source("last", "no")])
        #expect(identity.anonymousID == "vendor id")
        #expect(asked.withLock { $0 } == ["advertising", "vendor"])
        #expect(launch([source("again", "another")]).anonymousID == "vendor id")
        #expect(asked.withLock { $0 } == ["advertising", "vendor"])
        #expect(Identity(persistedIn: .memory, anonymousIDFrom: [source("none", nil)]).anonymousID?.count == 36)
    }

    @Test("a reset makes a new id, and never takes that of the device again")
    func resetNeverReusesDeviceID() throws {
        let identity = launch([AnonymousIDSource { "device" }])
        try identity.login("a")
        try identity.bind("crm_id", to: "7")
        try identity.join(group: "acme", ofType: "company")
        try identity.reset()
        #expect(identity.anonymousID != "device" && identity.anonymousID != nil)
        #expect(identity.loginID == nil && identity.boundIDs.isEmpty && identity.groups.isEmpty)
        #expect(launch().anonymousID == identity.anonymousID)
    }

    @Test(
        "an id survives the loss of either place, and damage to it, and is written there again",
        arguments: [nil, [1, 2, 3]] as [[UInt8]?])
    func idSurvivesLossOfEitherPlace(damage: [UInt8]?) throws {
        let id = launch().anonymousID
        for place in [first, second, first] {
            place.items["identity"] = damage
            let identity = launch()
            #expect(identity.anonymousID == id)
            #expect(first.items["identity"] == second.items["identity"] && place.items["identity"] != damage)
            #expect(place.items["identity.corrupt"] == damage)
            try identity.login("user")
            try identity.logout()
            #expect(first.items["identity"] == second.items["identity"])
        }
    }

    @Test("the properties of a login survive a launch before they are tracked, or are refused")
    func nestedLoginPropertiesAreKeptOrRefused() throws {
        func nested(_ levels: Int) -> Properties {
            (1..<levels).reduce(["a": 1] as Properties) { inner, _ in ["a": .object(inner)] }
        }
        let identity = launch()
        #expect(throws: SluiceError.self) { try identity.login("user", .init(nested(25))) }
        #expect(identity.loginID == nil)
        try identity.login("user", .init(nested(24)))
        #expect(launch().loginID == "user")
    }

    @Test("a source that asks the identity for its id gets none, and nothing hangs")
    func sourceMayAskTheIdentity() {
        let identity = Locked<Identity?>(nil)
        let new = Identity(
            persistedIn: .memory,
            anonymousIDFrom: [AnonymousIDSource { identity.withLock(\.self)?.anonymousID ?? "first" }])
        identity.withLock { $0 = new }
        #expect(new.anonymousID == "first")
        identity.withLock { $0 = nil }
    }

    @Test("an unreadable place never makes a new user: the id of the other place is used, or there is no id")
    func unreadablePlaceMakesNoNewUser() throws {
        first.fail(at: .read)
        let unknown = launch()
        #expect(unknown.anonymousID == nil)
        #expect(throws: SluiceError.self) { try TestPipeline { unknown } }
        first.fail()
        let id = launch().anonymousID
        first.fail(at: .read)
        #expect(launch().anonymousID == id)
    }

    @Test("a failed write to either place is an error, and nothing changes")
    func failedWriteChangesNothing() throws {
        let identity = launch()
        let id = identity.anonymousID
        for place in [second, first] {
            place.fail(at: .write)
            let error = #expect(throws: SluiceError.self) { try identity.login("a") }
            #expect(error?.code == .storageUnavailable)
            #expect(identity.loginID == nil)
            #expect(launch().loginID == nil && launch().anonymousID == id)
            place.fail()
        }
    }

    @Test("an id that can't be repaired is used, and reported")
    func failedRepairIsReported() throws {
        let id = launch().anonymousID
        first.items = [:]
        first.fail(at: .write)
        let said = Locked<[Diagnostic]>([])
        let identity = launch()
        #expect(identity.anonymousID == id)
        _ = try Pipeline(onDiagnostic: { diagnostic in said.withLock { $0.append(diagnostic) } }) {
            identity
            MemoryStore()
            NullTransport()
        }
        #expect(said.withLock { $0.map(\.kind) } == [.plugin])
    }
}
