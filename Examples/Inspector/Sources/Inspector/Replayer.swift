import Sluice
import SluiceHTTP
import SluiceJSONL
import SluiceMemory
import StoreFiles

/// Sends the events of a folder with the delivery of Sluice.
struct Replayer: Sendable {
    /// The counts of a replay.
    struct Result: Sendable, CustomStringConvertible {
        var delivered = 0
        /// Events that the backend rejected, possibly again.
        var rejected = 0
        /// The selected events that are still in the folder.
        var remaining = 0

        var description: String { "\(delivered) delivered, \(rejected) rejected, \(remaining) remain" }
    }

    let folder: StoreFolder
    let destination: Destination
    /// Called with the progress and with the delivery's messages.
    let report: @Sendable (String) -> Void

    private static let policy = DeliveryPolicy(batch: BatchSize(events: 500, bytes: 1_048_576))
    private static let largestEvent = 1 << 29

    /// Sends all waiting events, and all dead letters once.
    func replayAll() async throws -> Result {
        let start = PipelineEnvironment.systemTime.wallTime()
        let pipeline = try makePipeline(try makeStore())
        let total = try StoreStatistics(of: folder, at: start)
        try await withProgress(of: pipeline, total: total.waiting + total.deadLetters) {
            var done = 0
            while true {
                // Letters of this run are not replayed again. More of the earlier ones can come with each pass, because
                // the store takes over a few directories at a time.
                try await pipeline.replay { $0.date < start }
                await pipeline.flush()
                let route = pipeline.ledger.routes[0]
                if route.delivered + route.rejected == done { break }
                done = route.delivered + route.rejected
            }
        }
        let route = await pipeline.shutdown().routes[0]
        let rest = try StoreStatistics(of: folder, at: start)
        return Result(
            delivered: route.delivered, rejected: route.rejected, remaining: rest.waiting + rest.deadLetters)
    }

    /// Sends dead letters, and leaves the waiting events alone.
    ///
    /// A second pipeline in memory sends them, a batch at a time. Delivered ones are then removed from the folder. So a
    /// replay that is interrupted loses none of them, and may send a batch twice.
    func replayDeadLetters(where isMatch: @Sendable (_ reason: String, _ id: EventID?) -> Bool) async throws -> Result {
        var result = try await sendDeadLetters(where: isMatch)
        // Also those in directories that the store didn't take over: it takes a few at a time.
        let list = try DeadLetterList(of: folder.processes()) { _, letter in
            if isMatch(letter.reason, letter.event?.id) { result.remaining += 1 }
        }
        for problem in list.problems { report("\(problem)") }
        return result
    }

    private func sendDeadLetters(
        where isMatch: @Sendable (_ reason: String, _ id: EventID?) -> Bool
    ) async throws -> Result {
        let store = try makeStore()
        let report = report
        try store.open(
            StoreObserver(onRecovered: { _ in }, onDropped: { report("\($0) events are lost: \($1.rawValue)") }) {
                note in
                report(note)
            })
        defer { store.close() }
        var letters = try store.deadLetters().filter { isMatch($0.reason, $0.line.id) }[...]
        let total = letters.count
        let pipeline = try makePipeline(MemoryStore(capacity: 1 << 32))
        var result = Result()
        try await withProgress(of: pipeline, total: total) {
            while !letters.isEmpty {
                let batch = letters.prefix(Replayer.policy.batch.events)
                let tracked = track(batch, in: pipeline)
                let pass = await pipeline.flush()
                let refused = Set(try await pipeline.deadLetters().compactMap(\.line.id))
                result.rejected += refused.count
                guard pass.isComplete else { break }
                try await pipeline.discard()
                let delivered = batch.filter { letter in
                    letter.line.id.map { tracked.contains($0) && !refused.contains($0) } ?? false
                }
                result.delivered += try store.discardDeadLetters(Set(delivered.map(\.id)))
                letters = letters.dropFirst(batch.count)
            }
        }
        await pipeline.shutdown(deadline: .zero)
        return result
    }

    /// Tracks events with their own ids and times. Returns the ids.
    private func track(_ letters: ArraySlice<DeadLetter>, in pipeline: Pipeline) -> Set<EventID> {
        var ids: Set<EventID> = []
        for letter in letters {
            do throws(SluiceError) {
                let event = try letter.event()
                pipeline.track(event.name, event.properties, priority: event.priority, id: event.id) { new in
                    new.time = event.time
                    new.distinctID = event.distinctID
                    new.anonymousID = event.anonymousID
                    new.loginID = event.loginID
                }
                ids.insert(event.id)
            } catch {
                report("a dead letter stays, because its event can't be read: \(error)")
            }
        }
        return ids
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
            delivery: Replayer.policy, maximumEventBytes: Replayer.largestEvent, onDiagnostic: { report("\($0)") }
        ) {
            store
            HTTPTransport(to: destination.url, format: destination.format, headers: destination.headers)
        }
    }

    /// Reports the counts twice per second until `body` returns.
    private func withProgress(of pipeline: Pipeline, total: Int, _ body: () async throws -> Void) async throws {
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
        "a running process uses \(folder) (its directory is \(process)): stop it first, or let it call pipeline.replay()"
    }
}
