import Sluice
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceJSONL

/// The file `status.json`, which other programs read.
struct StatusTests: TimedStoreSuite {
    let directory = TemporaryDirectory()
    let files = FaultyFileSystem()
    let time = VirtualTime(wallTime: .sample)

    private func pipeline(_ transport: ScriptedTransport, random: UInt64 = 0) throws -> Pipeline {
        try Pipeline(environment: PipelineEnvironment(time: time, random: { random })) {
            JSONLStore(at: directory.path, files: files)
            transport
        }
    }

    private func statusFiles() throws -> [String] { try directory.files().filter { $0.contains("status") } }

    private func status() throws -> String? {
        // Not the next one, which isn't complete.
        let name = try statusFiles().first { $0.hasSuffix(InstanceDirectory.statusName) }
        guard let name else { return nil }
        return try StateFile(path: "\(directory.path)/\(name)").read().map { String(decoding: $0, as: UTF8.self) }
    }

    private func status(_ state: RouteStatus.State, failure: String? = nil) -> RouteStatus {
        var status = RouteStatus()
        (status.state, status.lastFailure) = (state, failure)
        return status
    }

    @Test("a failing receiver is shown with its status and the next attempt, and a shutdown removes the file")
    func showsFailure() async throws {
        let answers = [Verdicts.all(.retry(after: .seconds(60), reason: "the server is busy"), status: 503)]
        let transport = ScriptedTransport(answers.map { .answer($0) })
        let pipeline = try pipeline(transport)
        pipeline.track("Purchase", ["secret": "hidden"])
        await pipeline.flush()
        while try status() == nil { await Task.yield() }
        // The back-off is a tenth of 1 s, and comes on top of the minute.
        #expect(
            try status()
                == #"{"route":"main","state":"pausing","at":1767225600000,"nextAttempt":1767225660100,"#
                + #""lastStatus":503,"lastFailure":"the server is busy"}"#)
        time.advance(by: .seconds(61))
        await pipeline.flush()
        while try status()?.contains("pausing") == true { await Task.yield() }
        #expect(try status() == #"{"route":"main","state":"ready","at":1767225661000,"lastStatus":503}"#)
        await pipeline.shutdown()
        #expect(try directory.files() == [])
    }

    enum Refusal: CaseIterable {
        case everything
        /// Requests with one of the events, and that event by its number.
        case request, event

        func answer(_ batch: Batch) -> Verdicts {
            let busy = Verdict.retry(after: nil, reason: "the server is busy")
            let isBad = batch.events.map { String(decoding: $0.bytes, as: UTF8.self).contains("Purchase") }
            if self == .everything || self == .request && isBad.contains(true) { return .all(busy, status: 503) }
            return .each(isBad.map { $0 ? busy : .accepted }, status: 200)
        }
    }

    @Test("the last failure stays after a shutdown while events wait, and goes with them", arguments: Refusal.allCases)
    func keepsLastFailure(refusal: Refusal) async throws {
        // The last attempt is one that others pass, if any do.
        let pause = Locked<(@Sendable () -> Void)?>(nil)
        let pipeline = try pipeline(
            ScriptedTransport { _, batch in
                let isLast = String(decoding: batch.events[0].bytes, as: UTF8.self).contains("Last")
                if isLast { pause.withLock(\.self)?() }
                return .answer(refusal.answer(batch))
            }, random: .max)
        pause.withLock { $0 = { pipeline.pauseDelivery() } }
        for names in [["First"], ["Purchase", "Next"], ["Last"]] {
            pipeline.pauseDelivery()
            for name in names { pipeline.track(name) }
            pipeline.resumeDelivery()
            for _ in 0..<8 {
                time.advance(by: .seconds(600))
                await pipeline.flush()
            }
        }
        await pipeline.shutdown(timeout: .zero)
        let kept = try #require(try status())
        #expect(kept.contains(#""lastFailure":"the server is busy""#), "\(kept)")
        let next = try opened()
        #expect(try statusFiles() == [])
        #expect(try !next.drain().isEmpty)
        next.store.close()
        #expect(try directory.files() == [])
    }

    @Test("successes write the file once, and a host that pauses the pipeline writes it")
    func writesChangesOnly() async throws {
        let pipeline = try pipeline(ScriptedTransport(then: .answer(.all(.accepted, status: 200))))
        pipeline.track("First")
        await pipeline.flush()
        while try status() == nil { await Task.yield() }
        let renames = files.calls(.rename)
        for _ in 0..<5 {
            pipeline.track("Next")
            await pipeline.flush()
        }
        pipeline.pauseDelivery()
        while try status()?.contains("paused") != true { await Task.yield() }
        #expect(files.calls(.rename) == renames + 1)
        await pipeline.shutdown(timeout: .zero)
    }

    @Test("the file is no part of the store: a later process removes it, and reports nothing")
    func isRemovedByNextProcess() throws {
        let store = try opened()
        try store.append(EventLine(1))
        store.store.keep(status(.pausing))
        let name = try #require(try statusFiles().first)
        store.store.close()
        // A process that was killed can leave both.
        for name in [name, "\(name).new"] { try StateFile(path: "\(directory.path)/\(name)").write([1]) }
        let next = try opened()
        #expect(try statusFiles() == [] && next.notes == [])
        #expect(try next.drain() == texts([1]))
        next.store.keep(status(.pausing))
        next.store.close()
        #expect(try directory.files() == [] && SystemFileSystem().list(directory.path) == [])
    }

    @Test("a failure to write it has no effect", arguments: [FaultyFileSystem.Operation.create, .write, .rename])
    func failureHasNoEffect(operation: FaultyFileSystem.Operation) throws {
        let store = try opened()
        try store.append(EventLine(1))
        files.fail(operation, with: .noSpace)
        store.store.keep(status(.pausing))
        files.heal()
        #expect(try statusFiles() == [] && store.notes == [])
        store.store.keep(status(.paused))
        files.fail(operation, with: .noSpace)
        store.store.keep(status(.pausing))
        files.heal()
        // No status is better than an old one.
        #expect(try statusFiles() == [])
        #expect(try store.drain() == texts([1]))
        store.store.close()
    }

    @Test("a long reason is cut, and a closed store writes nothing")
    func boundsReason() throws {
        let store = try opened()
        try store.append(EventLine(1))
        store.store.keep(status(.pausing, failure: String(repeating: "x", count: 1_000_000)))
        let text = try #require(try status())
        #expect(text.utf8.count < 1_100)
        store.store.close()
        store.store.keep(status(.paused))
        #expect(try status() == text)
    }

    @Test("with encryption, the reason of a failure is left out")
    func hidesReasonIfEncrypted() throws {
        let store = try opened(encryption: .toy(7))
        try store.append(EventLine(1))
        store.store.keep(status(.pausing, failure: "the account of alice is closed"))
        let text = try #require(try status())
        #expect(text.contains("pausing") && !text.contains("alice"))
        store.store.close()
    }
}
