import Foundation
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceIdentity

/// Several processes, or several instances in one process, that share the file of an identity.
@Suite struct SharedIdentityTests {
    private let directory = TemporaryDirectory()

    /// Another process with the identity of the directory. It is ended with its last reference.
    private final class OtherProcess {
        private let process = Process()
        private let input = Pipe()
        private let output = Pipe()
        private var unread = Data()

        init(_ directory: TemporaryDirectory) throws {
            process.executableURL = try Program.built("FaultHost")
            process.arguments = ["identity", directory.path]
            process.standardInput = input
            process.standardOutput = output
            try process.run()
        }

        deinit {
            if process.isRunning { kill() }
        }

        func send(_ command: String) throws {
            try input.fileHandleForWriting.write(contentsOf: Data("\(command)\n".utf8))
        }

        /// Waits for the answer to a command.
        func answer() throws -> String {
            while true {
                if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
                    defer { unread = Data(unread[(end + 1)...]) }
                    return String(decoding: unread[..<end], as: UTF8.self)
                }
                let data = output.fileHandleForReading.availableData
                try #require(!data.isEmpty, "the process has ended")
                unread += data
            }
        }

        @discardableResult
        func run(_ command: String) throws -> String {
            try send(command)
            let answer = try answer()
            #expect(!answer.hasPrefix("error"), "\(answer)")
            return answer
        }

        /// Ends the process with SIGKILL.
        func kill() {
            _ = Foundation.kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
    }

    /// A new instance, which has read the file.
    private func launch() -> Identity {
        let identity = Identity(persistedIn: .file(directory.path))
        #expect(identity.anonymousID != nil)
        return identity
    }

    /// An event of an instance at a time in milliseconds.
    private func event(of identity: Identity, at time: Int64) -> Event {
        var event = Event(
            id: EventID(high: 0, low: 0), name: "Event", time: Timestamp(milliseconds: time), properties: [:])
        _ = identity.process(&event)
        return event
    }

    // MARK: One process

    @Test(
        "two identities of a pipeline can have one directory together, and no other place",
        arguments: [
            ("p", "p", true), ("p", "p/.", true), ("p", "q", true), ("db p", "db q", true), ("memory", "memory", true),
            ("db p", "db p", false), ("sealed p", "p", false), ("sealed p", "sealed p", false), ("x q", "q", false),
            ("x q", "x q", false), ("x q", "q x", false), ("p", "p q", false), ("db p", "p", true),
        ])
    func onlyDirectoriesAreShared(first: String, second: String, isAllowed: Bool) async throws {
        let encryption = LineEncryption(encrypt: { $0.map { $0 ^ 0x55 } }, decrypt: { $0.map { $0 ^ 0x55 } })
        let databases = ["p": MemoryPlace(), "q": MemoryPlace()]
        func place(_ text: String) -> Persistence {
            let words = text.split(separator: " ").map(String.init)
            switch words.first {
            case "memory": return .memory
            case "db": return databases[words[1]]?.persistence ?? .memory
            case "sealed": return .file("\(directory.path)/\(words[1])").encrypted(with: encryption)
            default:
                let places = words.map { Persistence.file("\(directory.path)/\($0)") }
                return places.dropFirst().reduce(places[0]) { $0.backedUp(by: $1) }
            }
        }
        func build() throws -> Pipeline {
            try Pipeline {
                RecordingStore().route("a", Identity(persistedIn: place(first)))
                RecordingStore().route("b", Identity(persistedIn: place(second)))
            }
        }
        if isAllowed {
            await (try build()).shutdown(timeout: .seconds(600))
        } else {
            let error = #expect(throws: SluiceError.self) { try build() }
            #expect(error?.code == .invalidPipeline)
        }
    }

    @Test("a change of one instance is used by events of another one a second later")
    func changeIsSeenAfterOneSecond() throws {
        let app = launch()
        let `extension` = launch()
        #expect(app.anonymousID == `extension`.anonymousID)
        #expect(event(of: `extension`, at: 10_000).loginID == nil)
        try app.login("customer-42")
        try app.join(group: "acme", ofType: "company")
        #expect(event(of: `extension`, at: 10_999).loginID == nil)
        let next = event(of: `extension`, at: 11_000)
        #expect(next.loginID == "customer-42" && next.distinctID == "customer-42")
        #expect(next.properties["$groups"] == .object(["company": "acme"]))
        try app.logout()
        // A clock that was set back must not prevent it.
        #expect(event(of: `extension`, at: 5_000).loginID == nil)
    }

    @Test("the ids of an instance are those of another one a second later, and after the app becomes active")
    func idsAndSignalsSeeChanges() throws {
        let time = VirtualTime()
        let app = launch()
        let `extension` = launch()
        let test = try TestPipeline(time: time) { `extension` }
        #expect(`extension`.loginID == nil)
        try app.login("a")
        #expect(`extension`.loginID == nil)
        time.advance(by: .seconds(1))
        #expect(`extension`.loginID == "a")
        for signal in [Signal.launched(.foreground), .didBecomeActive] {
            try app.logout()
            #expect(`extension`.loginID == "a")
            test.pipeline.signal(signal)
            #expect(`extension`.loginID == nil)
            try app.login("a")
            time.advance(by: .seconds(1))
            #expect(`extension`.loginID == "a")
        }
    }

    @Test("threads with an instance each lose no change")
    func threadsLoseNoChange() throws {
        let instances = (0..<4).map { _ in launch() }
        let errors = Locked<[any Error]>([])
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            for index in 0..<8 {
                do {
                    try instances[thread].bind("\(thread) \(index)", to: "x")
                } catch {
                    errors.withLock { $0.append(error) }
                }
            }
        }
        #expect(errors.withLock { $0.isEmpty })
        #expect(launch().boundIDs.count == 32)
        // The limit counts the ids of all.
        #expect(throws: SluiceError.self) { try instances[0].bind("another", to: "1") }
    }

    @Test(
        "an instance that is erased has new ids in the others too, and their next verb doesn't bring back the old ones")
    func eraseIsSeenByOthers() throws {
        let one = launch()
        let two = launch()
        try one.login("customer-42")
        try two.join(group: "acme", ofType: "company")
        #expect(two.loginID == "customer-42")
        let id = try one.erase()
        try two.bind("crm_id", to: "7")
        #expect(two.anonymousID == id && two.loginID == nil && two.groups.isEmpty)
        #expect(launch().anonymousID == id && launch().loginID == nil)
    }

    @Test("a file that is damaged or removed while an instance uses it doesn't change its ids, and is written again")
    func damageWhileRunningChangesNothing() throws {
        let identity = launch()
        try identity.login("a")
        let id = identity.anonymousID
        try directory.write([1, 2, 3], to: "identity.json")
        #expect(event(of: identity, at: 10_000).loginID == "a")
        try identity.join(group: "acme", ofType: "company")
        #expect(try directory.read("identity.json.corrupt") == [1, 2, 3])
        #expect(launch().anonymousID == id && launch().loginID == "a" && launch().groups.count == 1)
        directory.remove("identity.json")
        #expect(event(of: identity, at: 20_000).loginID == "a")
        try identity.leave("company")
        #expect(launch().anonymousID == id && launch().loginID == "a")
    }

    @Test("a lock that is never released is an error after 5,000 attempts, a millisecond apart")
    func heldLockIsAnError() throws {
        let path = "\(directory.path)/identity.json"
        let lock = try #require(try StateFile(path: path).lock())
        let pauses = Locked(0)
        let other = StateFile(path: path) { pauses.withLock { $0 += 1 } }
        let error = #expect(throws: SluiceError.self) { _ = try other.lock() }
        #expect(error?.code == .storageUnavailable)
        #expect(error?.message.contains("locked by another process") == true)
        #expect(pauses.withLock(\.self) == 4_999)
        withExtendedLifetime(lock) {}
    }

    @Test("a lock that is released while another one waits is taken")
    func releasedLockIsTaken() throws {
        let path = "\(directory.path)/identity.json"
        let lock = Locked(try StateFile(path: path).lock())
        let other = StateFile(path: path) { lock.withLock { $0 = nil } }
        #expect(try other.lock() != nil)
    }

    @Test("looking for changes doesn't wait for a verb of another thread")
    func refreshDoesNotWaitForVerbs() throws {
        let ids: @Sendable () -> UserIDs = { UserIDs(anonymousID: "a") }
        let state = IdentityState(in: .file(directory.path), report: { _ in }, initial: ids, renewed: ids)
        try state.change { _ in
            let isDone = DispatchSemaphore(value: 0)
            DispatchQueue.global().async {
                state.refresh()
                isDone.signal()
            }
            // Without an end if it waits for this closure.
            #expect(isDone.wait(timeout: .now() + 60) == .success)
        }
    }

    // MARK: Two processes

    @Test("processes that start at the same time have one anonymous id")
    func processesHaveOneAnonymousID() throws {
        let others = try (0..<4).map { _ in try OtherProcess(directory) }
        for other in others { try other.send("ids") }
        let ids = try Set(others.map { try $0.answer() })
        let id = try #require(launch().anonymousID)
        #expect(ids == ["\(id) none"])
    }

    @Test("a hundred alternating logins of two processes are each seen by the other one")
    func alternatingLoginsAreSeen() throws {
        let identity = launch()
        let other = try OtherProcess(directory)
        let id = try #require(identity.anonymousID)
        for index in 0..<50 {
            let time = Int64(index) * 2_000
            try identity.login("mine-\(index)")
            #expect(try other.run("event \(time)") == "\(id) mine-\(index)")
            try other.run("login theirs-\(index)")
            // A fork in another test can hold the locks of this process, and then the next event looks again.
            let ids = (0..<1_000).lazy.map { _ in event(of: identity, at: time).loginID }
            #expect(ids.contains("theirs-\(index)"))
        }
        let new = try other.run("erase")
        #expect(event(of: identity, at: 1_000_000).anonymousID == new)
    }

    @Test("two processes that write at the same time lose no change")
    func processesLoseNoChange() throws {
        let others = try [OtherProcess(directory), OtherProcess(directory)]
        try others[0].send("bind a 16")
        try others[1].send("bind b 16")
        for other in others { #expect(try other.answer() == "done") }
        let all = launch().boundIDs
        #expect(all.count == 32)
    }

    @Test("a process that is killed while it holds the lock doesn't block others")
    func killedHolderBlocksNobody() throws {
        let identity = launch()
        try identity.login("a")
        let other = try OtherProcess(directory)
        try other.run("lock")
        other.kill()
        try identity.login("b")
        #expect(launch().loginID == "b")
    }

    @Test("a process that is killed between or in changes leaves the old state or the new one, and no other file")
    func killedWriterLeavesWholeState() throws {
        let identity = launch()
        try identity.bind("crm_id", to: "7")
        let id = identity.anonymousID
        for _ in 0..<Trials.count(full: 50, few: 8) {
            let other = try OtherProcess(directory)
            try other.send("forever")
            #expect(try other.answer() == "started")
            // Its changes go on at the same time.
            for index in 1...5 { try identity.join(group: "\(index)", ofType: "team") }
            other.kill()
            let next = launch()
            #expect(next.anonymousID == id && next.boundIDs == ["crm_id": "7"] || next.boundIDs.isEmpty)
            #expect(["x", "y", nil].contains(next.loginID))
            #expect(directory.names.sorted() == ["identity.json", "identity.json.lock"])
            try identity.logout()
            try identity.bind("crm_id", to: "7")
        }
    }

    @Test("the child of a fork changes the identity like another process")
    func childOfForkSharesIdentity() throws {
        let identity = launch()
        let other = try OtherProcess(directory)
        try other.run("login a")
        try other.run("fork b")
        #expect(event(of: identity, at: 10_000).loginID == "b")
        #expect(try other.run("event 10000").hasSuffix(" b"))
        try other.run("logout")
        #expect(launch().loginID == nil)
    }
}
