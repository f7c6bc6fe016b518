import SluiceHTTP
import SluiceJSONL
import SluiceMemory
import StoreFiles
import Synchronization

/// Sends the events of a folder with the delivery of Sluice.
struct Replayer: Sendable {
    /// The counts of a replay.
    struct Result: Sendable, CustomStringConvertible {
        var delivered = 0
        /// Events that the backend rejected, possibly again.
        var rejected = 0
        /// The selected events that are still in the folder.
        var remaining = 0
        /// The remaining events in directories that the store didn't take over.
        var unreached = 0
        /// The events and dead letters that were lost, by reason, such as damaged lines.
        var dropped: [DropReason: Int] = [:]

        /// Why the last attempt failed.
        var failure: String?

        /// Whether each selected event was delivered.
        var isComplete: Bool { remaining == 0 && dropped.isEmpty }

        var description: String {
            let counts = ["\(delivered) delivered", "\(rejected) rejected", "\(remaining) remain"]
            let lost = dropped.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($1) lost (\($0.rawValue))" }
            var sentences = [(counts + lost).joined(separator: ", ")]
            if delivered + rejected + remaining + lost.count == 0 { sentences.append("Nothing matched") }
            if remaining > 0, let failure { sentences.append("The last attempt failed: \(failure)") }
            if unreached > 0 {
                sentences.append(
                    "Not tried: \(unreached), because a store takes over a few directories at a time. Run sluice replay "
                        + "without --dead-letters and --reason to send them, and the waiting events too")
            } else if remaining > 0 {
                sentences.append("Repeat the replay later, and it continues with them")
            }
            return sentences.joined(separator: ". ")
        }
    }

    /// The folder, with the directories of the route only.
    let folder: StoreFolder
    let destination: Destination
    /// The route whose events are sent. Events of other routes stay, and don't count as remaining.
    var route = "main"
    /// Called with the progress and with the delivery's messages.
    let report: @Sendable (String) -> Void

    private static let policy = DeliveryPolicy(batch: BatchSize(events: 500, bytes: 1_048_576))
    private static let largestEvent = 1 << 29

    /// What a condition for dead letters sees.
    struct Letter: Sendable {
        let reason: String
        let response: String?
        let id: EventID?
        let date: Timestamp

        init(_ letter: DeadLetterLine) {
            (reason, response, id, date) = (letter.reason, letter.response, letter.event.id, letter.date)
        }

        init(_ letter: DeadLetter) {
            (reason, response, id, date) = (letter.reason, letter.response, letter.line.id, letter.date)
        }
    }

    /// A condition for dead letters.
    typealias Selection = @Sendable (Letter) -> Bool

    /// What identifies a dead letter: an event that is rejected again becomes another one.
    private struct LetterKey: Hashable {
        let id: EventID?
        let date: Timestamp
    }

    /// Sends all waiting events, then, once, each dead letter that existed before.
    ///
    /// A letter that is refused again stays a dead letter.
    func replayAll() async throws -> Result {
        let now = PipelineEnvironment.systemTime.wallTime()
        var earlier: Set<LetterKey> = []
        _ = DeadLetterList(of: try folder.processes()) { _, letter in
            if let letter { earlier.insert(LetterKey(id: letter.event.id, date: letter.date)) }
        }
        let store = try makeStore()
        let total = try StoreStatistics(of: folder, at: now).waiting
        let pipeline = try makePipeline(store)
        await withProgress(of: pipeline, total: total) {
            await drain(pipeline)
        }
        let route = await pipeline.shutdown().routes[0]
        var result = Result(
            delivered: route.delivered, rejected: route.rejected,
            dropped: route.dropped.merging(route.droppedDeadLetters, uniquingKeysWith: +),
            failure: route.attempts.lastFailure)
        do {
            let letters = try await replayDeadLetters { [earlier] letter in
                earlier.contains(LetterKey(id: letter.id, date: letter.date))
            }
            result.delivered += letters.delivered
            result.rejected += letters.rejected
            result.dropped.merge(letters.dropped, uniquingKeysWith: +)
            result.failure = letters.failure ?? result.failure
        } catch let error as FolderInUse {
            report("\(error)")  // A host has started meanwhile.
        }
        let rest = try StoreStatistics(of: folder, at: now)
        result.remaining = rest.waiting + rest.deadLetters
        return result
    }

    /// Sends dead letters, and leaves the waiting events alone.
    ///
    /// A second pipeline in memory sends them, a batch at a time. Delivered ones are then removed from the folder. So a
    /// replay that fails or is interrupted loses none of them, and may send a batch twice.
    func replayDeadLetters(where isMatch: Selection) async throws -> Result {
        var (result, reached) = try await sendDeadLetters(where: isMatch)
        // Also those in directories that the store didn't take over: it takes a few at a time.
        let list = try DeadLetterList(of: folder.processes()) { _, letter in
            guard let letter, isMatch(Letter(letter)) else { return }
            result.remaining += 1
            if let id = letter.event.id, !reached.contains(id) { result.unreached += 1 }
        }
        for problem in list.problems { report("\(problem)") }
        return result
    }

    private func sendDeadLetters(where isMatch: Selection) async throws -> (Result, reached: Set<EventID>) {
        let store = try makeStore()
        let dropped = Mutex<[DropReason: Int]>([:])
        let count: @Sendable (Int, DropReason) -> Void = { count, reason in
            dropped.withLock { $0[reason, default: 0] += count }
        }
        try store.open(
            StoreObserver(route: route, onDropped: count, onDeadLettersDropped: count, onNote: report),
            in: PipelineEnvironment())
        defer { store.close() }
        let selected = try store.deadLetters().filter { isMatch(Letter($0)) }
        let letters = selected.filter(isReadable)
        let memory = try makeMemoryStore(of: letters)
        var unsent = Array(zip(try memory.deadLetters().map(\.id), letters))[...]
        let lastUnsent = unsent.last?.0 ?? 0
        let pipeline = try makePipeline(memory)
        var result = Result()
        try await withProgress(of: pipeline, total: letters.count) {
            while !unsent.isEmpty {
                let batch = Dictionary(uniqueKeysWithValues: unsent.prefix(Replayer.policy.batch.events))
                unsent = unsent.dropFirst(batch.count)
                try await pipeline.replayDeadLetters { batch[$0.id] != nil }
                let isWorking = await drain(pipeline)
                // A letter that is rejected again has a new number.
                let refused = Set(try await pipeline.deadLetters().filter { $0.id > lastUnsent }.compactMap(\.line.id))
                result.rejected += refused.count
                try await pipeline.discardDeadLetters { $0.id > lastUnsent }
                let left = refused.union(await waiting(in: pipeline))
                let delivered = batch.values.filter { letter in letter.line.id.map { !left.contains($0) } ?? false }
                result.delivered += try store.discardDeadLetters(Set(delivered.map(\.id)))
                if !isWorking { break }
            }
        }
        result.failure = await pipeline.shutdown(timeout: .zero).routes[0].attempts.lastFailure
        result.dropped = dropped.withLock(\.self)
        return (result, Set(selected.compactMap(\.line.id)))
    }

    /// Flushes until nothing more leaves.
    ///
    /// A flush ends at a pause, and the next one asks for other events. It can also find more directories. So once the backend
    /// has taken something, each event of a batch that waits may need a flush of its own, and up to half of the requests are of
    /// several events.
    ///
    /// - Returns: false if the backend takes nothing.
    @discardableResult private func drain(_ pipeline: Pipeline) async -> Bool {
        var (isWorking, idle, most) = (false, 0, 8)
        while idle <= most {
            let pass = await pipeline.flush()
            if pass.delivered > 0 { isWorking = true }
            idle = pass.delivered + pass.rejected > 0 ? 0 : idle + 1
            if pass.isComplete, idle > 0 { return true }
            if isWorking { most = 8 + 3 * min(pass.waiting, Replayer.policy.batch.events) }
        }
        return isWorking
    }

    /// The ids of the events that are neither delivered nor rejected.
    private func waiting(in pipeline: Pipeline) async -> Set<EventID> {
        let ids = Mutex<Set<EventID>>([])
        // An erasure sees all of them, and erases none here.
        _ = await pipeline.erase { line in
            if let id = line.id { _ = ids.withLock { $0.insert(id) } }
            return false
        }
        return ids.withLock { $0 }
    }

    private func isReadable(_ letter: DeadLetter) -> Bool {
        do throws(SluiceError) {
            _ = try letter.event()
            return true
        } catch {
            report("a dead letter stays, because its event can't be read: \(error)")
            return false
        }
    }

    /// Returns a store that has these dead letters, in their order.
    ///
    /// A pipeline that replays them sends their lines as they are. `track` would drop or change an event that exceeds its
    /// limits.
    private func makeMemoryStore(of letters: [DeadLetter]) throws -> MemoryStore {
        let store = MemoryStore(capacity: .max)
        for letter in letters {
            try store.append(letter.line)
            guard let batch = try store.nextBatch(BatchSize(events: 1, bytes: 1)) else { continue }
            let copy = DeadLetter(
                line: letter.line, reason: letter.reason, date: letter.date, status: letter.status,
                response: letter.response)
            store.reject([copy], in: batch.id)
            try store.settle(batch.id)
        }
        return store
    }

    /// - Throws: A ``FolderInUse`` if a process uses the folder.
    private func makeStore() throws -> JSONLStore {
        if let process = try folder.processes().first(where: \.isRunning) {
            throw FolderInUse(folder: folder.path, process: process.name)
        }
        // Nothing is evicted or expires by a replay.
        return JSONLStore(
            at: folder.path, capacity: 1 << 50, maximumAge: .seconds(1_000 * 365 * 86_400),
            maximumEventBytes: Replayer.largestEvent)
    }

    private func makePipeline(_ store: any Store) throws -> Pipeline {
        let report = report
        return try Pipeline(
            delivery: Replayer.policy, maximumEventBytes: Replayer.largestEvent,
            onDiagnostic: { diagnostic in
                // A host tries again later. This command ends, and says at its end how to go on.
                let isFailure = [Diagnostic.Kind.retrying, .paused].contains(diagnostic.kind)
                report(isFailure ? "the backend fails: \(diagnostic.message)" : "\(diagnostic)")
            }
        ) {
            Route(route) {
                store
                destination.transport()
            }
        }
    }

    /// Reports the counts twice per second until `body` returns.
    private func withProgress(of pipeline: Pipeline, total: Int, _ body: () async throws -> Void) async rethrows {
        let report = report
        let progress = Task {
            var last = 0
            while !Task.isCancelled {
                let delivered = pipeline.ledger.routes.reduce(0) { $0 + $1.delivered }
                if delivered > last { report("\(delivered) of \(total)") }
                last = delivered
                do { try await Task.sleep(for: .milliseconds(500)) } catch { break }
            }
        }
        defer { progress.cancel() }
        try await body()
    }
}

/// A running process uses the folder, so that nothing else may deliver its events.
struct FolderInUse: Error, CustomStringConvertible {
    let folder: String
    let process: String

    var description: String {
        "a running process uses \(folder) (its directory is \(process)): stop it first, or let it call pipeline.replayDeadLetters()"
    }
}
