import Sluice
import SluiceIdentity
import Testing

@Suite("Identity: kept across launches")
struct IdentityPersistenceTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// What a launch of the host makes.
    private func launch() -> Identity {
        Identity(persistedIn: .file(directory.path))
    }

    @Test("each verb is on disk when it returns")
    func verbsPersist() throws {
        let first = launch()
        let anonymousID = first.anonymousID
        #expect(anonymousID != nil)
        #expect(launch().anonymousID == anonymousID)
        #expect(launch().loginID == nil)
        try first.login("a \"quoted\" 名前\n\u{1}")
        #expect(launch().loginID == "a \"quoted\" 名前\n\u{1}")
        try first.logout()
        #expect(launch().loginID == nil)
        let new = try first.resetAnonymousID()
        #expect(launch().anonymousID == new)
        #expect(try directory.names == ["identity.json"])
    }

    @Test("in memory nothing is kept")
    func memory() throws {
        #expect(Identity(persistedIn: .memory).anonymousID != Identity(persistedIn: .memory).anonymousID)
    }

    @Test("the file is JSON with the ids in plain sight")
    func format() throws {
        let identity = Identity(persistedIn: .file(directory.path), random: { 0 })
        try identity.join("team", "7")
        let bytes = try #require(try directory.read("identity.json"))
        guard case .object(let record) = try JSONReader.value(of: bytes) else {
            Issue.record("no object")
            return
        }
        #expect(
            record["identity"]
                == ["anonymous_id": "00000000-0000-4000-8000-000000000000", "groups": ["team": "7"]])
    }

    @Test("a file with more in it, as of a later version, is read")
    func laterVersion() throws {
        // The checksum of what a version with groups would write; computed elsewhere by the same rule.
        let text = #"{"version":2,"identity":{"anonymous_id":"a","groups":{"team":"b"}},"checksum":"1cebfca682cd44de"}"#
        try directory.write(Array(text.utf8), to: "identity.json")
        #expect(launch().anonymousID == "a")
    }

    @Test("a damaged file of any kind never changes an id silently: it is cut short, or one byte is another")
    func damage() throws {
        let identity = launch()
        try identity.login("customer-42")
        let good = try #require(try directory.read("identity.json"))
        var damaged = (0..<good.count).map { Array(good[..<$0]) }
        for index in good.indices {
            for bit in 0..<8 {
                var bytes = good
                bytes[index] ^= 1 << bit
                damaged.append(bytes)
            }
        }
        damaged.append(Array("{}".utf8))
        damaged.append(Array(#"{"identity":{"login_id":"customer-42"},"checksum":"0"}"#.utf8))
        damaged.append([UInt8](repeating: 0, count: good.count))
        for bytes in damaged {
            try directory.write(bytes, to: "identity.json")
            let next = launch()
            let error = #expect(throws: SluiceError.self) { try TestPipeline { next } }
            #expect(error?.code == .corruptIdentity)
            #expect(next.anonymousID == nil && next.distinctID == nil)
            #expect(try directory.read("identity.json") == bytes)
        }
    }

    @Test("with a damaged file the verbs throw what building the pipeline throws")
    func damageAndVerbs() throws {
        try directory.write([], to: "identity.json")
        let identity = launch()
        for verb in [{ try identity.login("a") }, { try identity.logout() }] {
            let error = #expect(throws: SluiceError.self) { try verb() }
            #expect(error?.code == .corruptIdentity)
            #expect(error?.message.contains("\(directory.path)/identity.json") == true)
            #expect(error?.message.contains("resetAnonymousID()") == true)
        }
    }

    @Test("a reset keeps the damaged file aside and goes on as a new user")
    func resetAfterDamage() async throws {
        let old = launch()
        try old.login("a")
        let damaged = try #require(try directory.read("identity.json")).dropLast(3)
        try directory.write(Array(damaged), to: "identity.json")
        let identity = launch()
        let new = try identity.resetAnonymousID()
        #expect(new != old.anonymousID)
        #expect(identity.loginID == nil)
        #expect(try directory.read("identity.json.corrupt") == Array(damaged))
        #expect(launch().anonymousID == new)
        let test = try TestPipeline { identity }
        test.pipeline.track("Event")
        #expect(try await test.event().distinctID == new)
    }

    @Test("a file that was put right is read again when the pipeline is built")
    func putRight() throws {
        let anonymousID = launch().anonymousID
        let good = try #require(try directory.read("identity.json"))
        try directory.write([], to: "identity.json")
        let identity = launch()
        #expect(throws: SluiceError.self) { try TestPipeline { identity } }
        try directory.write(good, to: "identity.json")
        _ = try TestPipeline { identity }
        #expect(identity.anonymousID == anonymousID)
    }

    @Test("what cannot be kept is an error, and the identity is as it was")
    func failedWrites() throws {
        let identity = launch()
        try identity.login("a")
        let anonymousID = identity.anonymousID
        try directory.block()
        for verb in [
            { try identity.login("b") }, { try identity.logout() }, { _ = try identity.resetAnonymousID() },
        ] {
            let error = #expect(throws: SluiceError.self) { try verb() }
            #expect(error?.code == .storageUnavailable)
            #expect(identity.loginID == "a")
            #expect(identity.anonymousID == anonymousID)
        }
        try directory.unblock()
        try identity.login("b")
        #expect(launch().loginID == "b")
        #expect(launch().anonymousID == anonymousID)
    }

    @Test("the same login again does not write")
    func sameLogin() throws {
        let identity = launch()
        try identity.login("a")
        try directory.block()
        try identity.login("a")
    }

    @Test("a place that cannot be used is an error when the pipeline is built", arguments: ["", "/dev/null/state"])
    func unusablePlace(path: String) {
        let identity = Identity(persistedIn: .file(path))
        let error = #expect(throws: SluiceError.self) { try TestPipeline { identity } }
        #expect(error?.code == .storageUnavailable)
        #expect(identity.anonymousID == nil)
    }

    @Test("an identity that could not be read is not overwritten by a login")
    func noOverwrite() throws {
        try directory.write(Array("{".utf8), to: "identity.json")
        let identity = launch()
        #expect(throws: SluiceError.self) { try identity.login("a") }
        #expect(try directory.read("identity.json") == Array("{".utf8))
    }
}
