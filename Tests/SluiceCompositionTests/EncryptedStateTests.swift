import Sluice
import SluiceFilters
import SluiceIdentity
import SluiceTesting
import TestSupport
import Testing

/// The state of plugins, encrypted with keys that change.
@Suite struct EncryptedStateTests {
    private struct NoKey: Error {}

    private let directory = TemporaryDirectory()

    /// A toy cipher with one key for each letter.
    private func ring(_ current: String, reading ids: String) -> LineEncryption {
        @Sendable func turned(_ bytes: [UInt8], _ id: String?) throws -> [UInt8] {
            guard let id, ids.contains(id), let key = id.utf8.first else { throw NoKey() }
            return bytes.map { $0 ^ key }
        }
        return LineEncryption(keyID: current, encrypt: { try turned($0, current) }, decrypt: turned)
    }

    /// Runs a process, and returns the identity.
    @discardableResult
    private func process(_ encryption: LineEncryption?, _ body: (Identity) throws -> Void = { _ in }) throws -> Identity
    {
        var place = Persistence.file(directory.path)
        if let encryption { place = place.encrypted(with: encryption) }
        let (consent, identity) = (Consent(persistedIn: place), Identity(persistedIn: place))
        let pipeline = try RecordingStore().pipeline(consent, identity)
        try withExtendedLifetime(pipeline) {
            try consent.grant()
            try body(identity)
        }
        return identity
    }

    private func contents() throws -> [String] {
        try directory.names.filter { $0.hasSuffix(".json") }.map {
            String(decoding: try directory.read($0), as: UTF8.self)
        }
    }

    @Test("no state is readable on the disk, and the next process reads it")
    func stateIsEncrypted() throws {
        try process(ring("a", reading: "a")) { try $0.login("person-42") }
        let contents = try contents()
        #expect(contents.count == 2)
        for text in contents {
            #expect(text.hasPrefix(#"{"sealed":""#))
            #expect(text.hasSuffix(#"","key":"a"}"#))
        }
        #expect(try process(ring("a", reading: "a")).loginID == "person-42")
    }

    @Test("plain state is read when encryption is turned on; the next change is written with the current key")
    func keysRotate() throws {
        try process(nil) { try $0.login("person-1") }
        #expect(try contents().contains { $0.contains("person-1") })
        for (number, (id, readable)) in [("a", "a"), ("b", "ab"), ("c", "abc")].enumerated() {
            let identity = try process(ring(id, reading: readable)) { identity in
                #expect(identity.loginID == "person-\(number + 1)")
                try identity.login("person-\(number + 2)")
            }
            #expect(identity.loginID == "person-\(number + 2)")
            #expect(try contents().contains { $0.contains(#""key":"\#(id)""#) })
        }
        #expect(try contents().allSatisfy { !$0.contains("person") })
    }

    @Test("without its key, state stays as it is: the pipeline can't be built until the key is back")
    func keepsUnreadableState() throws {
        try process(ring("a", reading: "a")) { try $0.login("person-42") }
        let before = try contents()
        #expect(throws: SluiceError.self) { try process(ring("b", reading: "b")) }
        #expect(try contents() == before)
        #expect(try process(ring("b", reading: "ab")).loginID == "person-42")
    }

    @Test("damaged encrypted state is not mistaken for a first launch")
    func damageIsAnError() throws {
        try process(ring("a", reading: "a"))
        try directory.write(Array(#"{"sealed":"?","key":"a"}"#.utf8), to: "identity.json")
        #expect(throws: SluiceError.self) { try process(ring("a", reading: "a")) }
        #expect(String(decoding: try directory.read("identity.json"), as: UTF8.self).hasPrefix(#"{"sealed":"?""#))
    }
}
