import Foundation
import SluiceIdentity
import SluiceTesting
import TestSupport
import Testing

@Suite("Identity: kept across launches")
struct IdentityPersistenceTests {
    private let directory = TemporaryDirectory()

    /// The identity of a new launch.
    private func launch() -> Identity { Identity(persistedIn: .file(directory.path)) }

    @Test("each verb is on disk when it returns")
    func verbsAreDurable() throws {
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
        #expect(directory.names == ["identity.json", "identity.json.lock"])
    }

    @Test("the file is readable JSON with the ids")
    func fileIsReadableJSON() throws {
        let identity = launch()
        _ = try TestPipeline(random: { 0 }) { identity }
        try identity.join(group: "7", ofType: "team")
        let record = try #require(try JSONReader.value(of: directory.read("identity.json")).object)
        #expect(
            record["identity"]
                == ["anonymous_id": "00000000-0000-4000-8000-000000000000", "groups": ["team": "7"]])
    }

    @Test("a file from before versions is read")
    func fileWithoutVersionIsRead() throws {
        // The checksum was computed independently by the same rule.
        let text = #"{"identity":{"anonymous_id":"a","groups":{"team":"b"}},"checksum":"1cebfca682cd44de"}"#
        try directory.write(Array(text.utf8), to: "identity.json")
        #expect(launch().anonymousID == "a")
    }

    @Test("a host that is told of a damaged file can use the identity and change it")
    func hostUsesIdentityInDiagnostic() throws {
        try Data("{}".utf8).write(to: URL(filePath: directory.path + "/identity.json"))
        let identity = launch()
        let seen = Locked<[String?]>([])
        let pipeline = try Pipeline(
            onDiagnostic: { diagnostic in
                seen.withLock { $0.append(identity.anonymousID) }
                do {
                    try identity.login("customer-42")
                } catch {
                    Issue.record(error)
                }
            }
        ) {
            identity
            RecordingStore()
            NullTransport()
        }
        let id = try #require(identity.anonymousID)
        #expect(seen.withLock(\.self) == [id])
        #expect(launch().loginID == "customer-42")
        withExtendedLifetime(pipeline) {}
    }

    @Test("a damaged file of any kind is set aside and reported, and makes a new user")
    func damageIsKeptAside() throws {
        let identity = launch()
        try identity.login("customer-42")
        let good = try directory.read("identity.json")
        var damaged = (0..<good.count).map { Array(good[..<$0]) }
        for index in good.indices {
            for bit in 0..<8 {
                var bytes = good
                bytes[index] ^= 1 << bit
                damaged.append(bytes)
            }
        }
        // 11 and the number of bits have no common factor, so every bit of a byte is among them.
        damaged = stride(from: 0, to: damaged.count, by: Trials.count(full: 1, few: 11)).map { damaged[$0] }
        damaged.append(Array("{}".utf8))
        damaged.append(Array(#"{"identity":{"login_id":"customer-42"},"checksum":"0"}"#.utf8))
        damaged.append([UInt8](repeating: 0, count: good.count))
        let former = identity.anonymousID
        for bytes in damaged {
            try directory.write(bytes, to: "identity.json")
            let next = launch()
            let id = try #require(next.anonymousID)
            #expect(id.count == 36 && id != former && next.loginID == nil)
            #expect(try directory.read("identity.json.corrupt") == bytes)
            #expect(launch().anonymousID == id)
        }
    }

    @Test("an unreadable file is not replaced by a verb or a build, and is read when that is possible again")
    func unreadableFileIsReadAgain() throws {
        let anonymousID = launch().anonymousID
        let good = try directory.read("identity.json")
        directory.remove("identity.json")
        try directory.makeDirectory("identity.json")
        let identity = launch()
        for use in [
            { try identity.login("a") }, { _ = try identity.resetAnonymousID() }, { _ = try TestPipeline { identity } },
        ] {
            #expect(throws: SluiceError.self) { try use() }
        }
        #expect(directory.names == ["identity.json", "identity.json.lock"])
        directory.remove("identity.json")
        try directory.write(good, to: "identity.json")
        _ = try TestPipeline { identity }
        #expect(identity.anonymousID == anonymousID && identity.loginID == nil)
    }

    @Test("a failed write is an error, and the identity is as it was")
    func failedWritesChangeNothing() throws {
        let identity = launch()
        try identity.login("a")
        let anonymousID = identity.anonymousID
        try directory.block()
        for verb in [
            { try identity.login("b") }, { try identity.logout() }, { _ = try identity.resetAnonymousID() },
            { _ = try identity.erase() },
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
    func sameLoginDoesNotWrite() throws {
        let identity = launch()
        try identity.login("a")
        let path = "\(directory.path)/identity.json"
        // Each write makes a new file. A second name keeps the number of the first one from being used again.
        #expect(link(path, path + ".other") == 0)
        let inode = try SystemFileSystem().status(of: path).inode
        try identity.login("a")
        #expect(try SystemFileSystem().status(of: path).inode == inode)
        try identity.login("b")
        #expect(try SystemFileSystem().status(of: path).inode != inode)
    }

    @Test("a place that cannot be used is an error when the pipeline is built", arguments: ["", "/dev/null/state"])
    func unusablePlaceThrows(path: String) {
        let identity = Identity(persistedIn: .file(path))
        let error = #expect(throws: SluiceError.self) { try TestPipeline { identity } }
        #expect(error?.code == (path.isEmpty ? .invalidArgument : .storageUnavailable))
        #expect(identity.anonymousID == nil)
    }

    @Test("erase leaves no trace of the former ids, and makes a new anonymous id that never comes from a source")
    func eraseLeavesNoTrace() throws {
        let device = AnonymousIDSource { "device" }
        try directory.write(Array("old traces".utf8), to: "identity.json")
        let identity = Identity(persistedIn: .file(directory.path), anonymousIDFrom: [device])
        try identity.login("customer-42")
        try identity.bind("crm_id", to: "7781")
        try identity.join(group: "acme", ofType: "company")
        // As a process leaves it that is killed during a write.
        try directory.write(Array("customer-42".utf8), to: "identity.json.1-1.tmp")
        #expect(try directory.read("identity.json.corrupt") == Array("old traces".utf8))
        let id = try identity.erase()
        #expect(id != "device" && id.count == 36)
        #expect(identity.anonymousID == id && identity.loginID == nil)
        #expect(identity.boundIDs.isEmpty && identity.groups.isEmpty)
        #expect(directory.names.sorted() == ["identity.json", "identity.json.lock"])
        let text = String(decoding: try directory.read("identity.json"), as: UTF8.self)
        #expect(text.hasPrefix("{\"identity\":{\"anonymous_id\":\"\(id)\"},"))
        #expect(launch().anonymousID == id)
    }

    @Test("events of other threads have all former ids or all new ones, and only new ones after erase has returned")
    func eraseIsAtomicForOtherThreads() async throws {
        let identity = launch()
        let test = try TestPipeline { identity }
        let isErased = Locked(false)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    for _ in 0..<500 {
                        let isAfter = isErased.withLock(\.self)
                        test.pipeline.track(isAfter ? "After" : "Before")
                    }
                }
            }
            group.addTask {
                do {
                    for index in 0..<20 {
                        try identity.login("customer-42")
                        try identity.join(group: "group-\(index)", ofType: "company")
                        try identity.erase()
                    }
                } catch {
                    Issue.record(error)
                }
                isErased.withLock { $0 = true }
                for _ in 0..<100 { test.pipeline.track("After") }
            }
        }
        let events = await test.events()
        #expect(events.contains { $0.name == "After" })
        for event in events where event.name == "After" {
            #expect(event.loginID == nil && event.anonymousID == identity.anonymousID)
            #expect(event.properties["$groups"] == nil)
        }
        for event in events where event.properties["$groups"] != nil { #expect(event.loginID == "customer-42") }
    }
}
