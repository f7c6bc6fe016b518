public import Sluice

/// Checks your ``Sluice/Store`` against the promises of the protocol.
///
/// ```swift
/// try await StoreContract.check { MemoryStore() }
/// ```
public enum StoreContract {
    private static let promises: [(name: String, check: @Sendable (StoreCheck) async throws -> Void)] = [
        ("it opens once", { try $0.opensOnce() }),
        ("it keeps order and bytes", { try $0.keepsOrderAndBytes() }),
        ("it keeps batches apart", { try $0.keepsBatchesApart() }),
        ("it makes progress with the smallest size", { try $0.keepsTheSize() }),
        ("it keeps dead letters", { try $0.keepsDeadLetters() }),
        ("it settles single events", { try $0.settlesEvents() }),
        ("it erases single events", { try $0.erasesEvents() }),
        ("it can be used by eight threads", { try await $0.accountsForEveryEvent() }),
        ("it closes", { try $0.closes() }),
    ]

    /// Checks one promise after another, each with a fresh store, in the order in which you would write a store.
    ///
    /// With `reopen`, a store is filled with events of both priorities, and closed with some of them settled and a batch
    /// in flight. The next one at its place must return the others, and no others, together with new ones.
    ///
    /// - Parameters:
    ///   - timeout: The time for each promise. A store that doesn't return keeps its thread.
    ///   - reopen: Makes a store at the place of the last store that `make` returned. Pass it if your store outlives
    ///     its process.
    ///   - isolation: The caller's actor, on which `make` and `reopen` run.
    ///   - make: Makes an empty store that is not open, with room for at least 2,000 small events.
    /// - Throws: ``Sluice/SluiceError/Code/brokenContract`` with the broken promise, and errors that the store or
    ///   `make` throws where it must not.
    public static func check(
        timeout: Duration = .seconds(60), reopen: (() throws -> any Store)? = nil,
        isolation: isolated (any Actor)? = #isolation, _ make: () throws -> any Store
    ) async throws {
        func run<Value: Sendable>(
            _ store: any Store, _ name: String, _ body: @escaping @Sendable (StoreCheck) async throws -> Value
        ) async throws -> Value {
            let promise = "a method of the store didn't return, in the check that \(name)"
            return try await returning(within: timeout, orElse: promise) {
                let check = StoreCheck(store)
                try check.open()
                let result = try await body(check)
                store.close()
                return result
            }
        }
        for promise in promises { try await run(make(), promise.name, promise.check) }
        guard let reopen else { return }
        let name = "it keeps what an earlier process has left"
        let left = try await run(make(), name) { try $0.leavesSome() }
        let later = try await run(reopen(), name) { try $0.continues(with: left) }
        try await run(reopen(), name) { try $0.finds(later) }
        try await run(reopen(), name) { try $0.finds(Remains()) }
        let erasing = "it erases events of an earlier process"
        let kept = try await run(make(), erasing) { try $0.leavesErased() }
        let rest = try await run(reopen(), erasing) { try $0.erases(from: kept) }
        try await run(reopen(), erasing) { try $0.finds(rest) }
        let keepsDeadLetters = try await run(make(), name) { try $0.leavesDeadLetters(0..<20) }
        if keepsDeadLetters { try await run(reopen(), name) { try $0.findsDeadLetters(0..<20) } }
    }
}

/// The checks of one store, which is open.
struct StoreCheck {
    static let date = Timestamp(milliseconds: 1_767_225_600_000)

    let store: any Store
    private let reports = Locked((recovered: 0, dropped: 0))

    init(_ store: any Store) {
        self.store = store
    }

    func open() throws {
        try store.open(
            StoreObserver(
                onRecovered: { [reports] count in reports.withLock { $0.recovered += count } },
                onDropped: { [reports] count, _ in reports.withLock { $0.dropped += count } },
                onNote: { _ in }), in: PipelineEnvironment())
    }

    func requireBacklog(_ events: Int, _ moment: String) throws {
        let backlog = store.backlog
        try require(
            backlog.events == events && (backlog.bytes > 0) == (events > 0),
            "\(moment) the backlog is \(backlog) instead of \(events)")
    }

    func take(_ size: BatchSize, of events: String = "events") throws -> Batch {
        guard let batch = try store.nextBatch(size) else {
            throw SluiceError(.brokenContract, "\(events) were stored, and no batch was returned")
        }
        return batch
    }

    /// Appends samples: see ``Samples/lines(_:criticalAt:)``.
    @discardableResult
    func append(_ numbers: Range<Int>, criticalAt: Int? = nil) throws(SluiceError) -> [EventLine] {
        let lines = try Samples.lines(numbers, criticalAt: criticalAt)
        for line in lines { try store.append(line) }
        return lines
    }

    /// Returns all batches that the store can return.
    func takeAll(_ size: BatchSize, settling: Bool) throws -> [Batch] {
        var batches: [Batch] = []
        while let batch = try store.nextBatch(size) {
            try require(!batch.events.isEmpty, "an empty batch was returned: return nil if no event waits")
            try require(Set(batch.events.map(\.priority)).count == 1, "a batch mixes priorities")
            batches.append(batch)
            if settling { try store.settle(batch.id) }
            try require(batches.count <= 10_000, "more batches than events: a batch was returned twice")
        }
        return batches
    }

    // MARK: The promises

    func opensOnce() throws {
        try requireBacklog(0, "after opening,")
        try require(try store.nextBatch(BatchSize(events: 1, bytes: 1)) == nil, "an empty store returned a batch")
        do {
            try open()
        } catch {
            return
        }
        throw SluiceError(.brokenContract, "a second open must throw: two pipelines would share the store")
    }

    func keepsOrderAndBytes() throws {
        var lines = try Samples.lines(0..<200, criticalAt: 7)
        // Two equal events are two events, whether they were appended alone or together.
        (lines[3], lines[103]) = (lines[2], lines[102])
        let expected = lines.filter { $0.priority == .critical } + lines.filter { $0.priority == .normal }
        for line in lines[..<100] { try store.append(line) }
        let errors = store.append(contentsOf: Array(lines[100...]))
        try require(errors.isEmpty, "events that were appended together were refused: \(errors)")
        try requireBacklog(200, "after 200 appends, of which 2 have equal bytes to others,")
        let events = try takeAll(BatchSize(events: 50, bytes: .max), settling: true).flatMap(\.events)
        try require(
            events.map { Array($0.bytes) } == expected.map { Array($0.bytes) },
            "events must be returned byte for byte: critical ones first, in the order of the appends, and equal ones twice"
        )
        try require(events.map(\.priority) == expected.map(\.priority), "a priority was changed")
        try requireBacklog(0, "after all batches were settled,")
    }

    func keepsBatchesApart() throws {
        let lines = try append(0..<100)
        let size = BatchSize(events: 30, bytes: .max)
        let batches = try takeAll(size, settling: false)
        try require(batches.flatMap(\.events) == lines, "an event was returned twice, or lost")
        try require(Set(batches.map(\.id)).count == batches.count, "two batches have the same id")
        try requireBacklog(100, "with all batches in flight,")

        for batch in batches { try store.settle(batch.id) }
        try requireBacklog(0, "after all batches were settled,")
        try require(try store.nextBatch(size) == nil, "a settled batch was returned again")
    }

    func keepsTheSize() throws {
        let lines = try append(0..<10)
        // Even the smallest size must make progress.
        let events = try takeAll(BatchSize(events: 1, bytes: 1), settling: true).flatMap(\.events)
        try require(events == lines, "batches of one event each must return all events")
    }

    func keepsDeadLetters() throws {
        let lines = try append(0..<6)
        let size = BatchSize(events: 6, bytes: .max)
        let batch = try take(size, of: "6 events")
        try require(batch.events == lines, "the first batch has other events than those that were stored")
        store.reject(
            [0, 3].map {
                DeadLetter(
                    line: lines[$0], reason: "sample \($0)", date: StoreCheck.date,
                    status: $0 == 0 ? nil : 403, response: $0 == 0 ? nil : "no \"\u{E9}\"")
            }, in: batch.id)
        let letters = try store.deadLetters()
        try requireBacklog(6, "with 2 rejected events and the batch not settled,")
        // A store may keep no dead letters at all.
        let keepsLetters = !letters.isEmpty || store.backlog.deadLetters > 0
        try store.settle(batch.id)
        try requireBacklog(0, "after the batch was settled,")
        guard keepsLetters else { return }
        try require(letters.map(\.line) == [lines[0], lines[3]], "dead letters must be the rejected events, in order")
        try require(letters.map(\.reason) == ["sample 0", "sample 3"], "a dead letter has lost its reason")
        try require(
            letters.map(\.status) == [nil, 403] && letters.map(\.response) == [nil, "no \"\u{E9}\""]
                && letters.allSatisfy { $0.date == StoreCheck.date },
            "a dead letter has lost its date or the receiver's words: return the letter that was rejected, with an id")
        try require(store.backlog.deadLetters == 2, "the backlog must count dead letters")
        let unknown = DeadLetter.ID.max
        try require(
            try store.replayDeadLetters([unknown]) == 0 && store.discardDeadLetters([unknown]) == 0,
            "unknown ids of dead letters must be ignored")
        let waiting = try append(6..<8)
        try require(try store.replayDeadLetters([letters[0].id]) == 1, "a dead letter was not replayed")
        try requireBacklog(3, "after a replay beside two events,")
        try require(
            try takeAll(size, settling: true).flatMap(\.events) == waiting + [lines[0]],
            "a replayed event must be returned again, behind the events that wait")
        try require(
            try store.deadLetters().map(\.id) == [letters[1].id], "the other dead letter must stay, with its id")
        try require(try store.discardDeadLetters([letters[1].id]) == 1, "a dead letter was not discarded")
        try require(
            try store.deadLetters().isEmpty && store.backlog.deadLetters == 0, "a discarded dead letter is still there")
    }

    func accountsForEveryEvent() async throws {
        let refused = Locked(0)
        await withTaskGroup(of: Void.self) { [store] group in
            for task in 0..<8 {
                // The tasks of the group share a thread.
                group.addTask {
                    await Task.runningOnOwnThread(hasThreads: true) {
                        for number in task * 200..<(task + 1) * 200 {
                            do {
                                try store.append(Samples.line(number))
                            } catch {
                                refused.withLock { $0 += 1 }
                            }
                        }
                    }
                }
            }
        }
        let events = try takeAll(BatchSize(events: 64, bytes: .max), settling: true).flatMap(\.events)
        let lost = refused.withLock { $0 } + reports.withLock { $0.dropped }
        try require(
            events.count + lost == 1_600,
            "8 threads stored 1,600 events: \(events.count) were returned, \(lost) were refused or reported as dropped")
        let ids = events.compactMap(\.id)
        try require(Set(ids).count == events.count, "an event was returned twice")
        for task in 0..<8 {
            let own = ids.filter { ($0.low & 0xFFFF) / 200 == UInt64(task) }
            try require(own == own.sorted(), "events of one thread are out of order")
        }
        try requireBacklog(0, "after all batches were settled,")
    }

    func closes() throws {
        try append(0..<30)
        // Events of an open batch still wait.
        _ = try store.nextBatch(BatchSize(events: 20, bytes: .max))
        try store.synchronize()
        store.close()
        try requireBacklog(30, "after a close,")
        store.close()
        try requireBacklog(30, "after a second close,")
        do throws(SluiceError) {
            try store.append(try Samples.line(30))
        } catch {
            return try require(error.code == .shutDown, "an append after the close must throw shutDown, not \(error)")
        }
        throw SluiceError(.brokenContract, "an append after the close must throw")
    }

    // MARK: Stores that outlive their process

    /// Settles a batch, and every second event of another one, which stays open.
    private func settleSome(_ remains: inout Remains) throws {
        let size = BatchSize(events: 15, bytes: .max)
        for isWhole in [true, false] {
            guard let batch = try store.nextBatch(size) else { return }
            try remains.check(batch.events)
            // The others are delivered again when the process ends before the batch is settled.
            let places = batch.events.indices.filter { isWhole || $0.isMultiple(of: 2) }
            if isWhole { try store.settle(batch.id) } else { store.settle(places, of: batch.id) }
            remains.settle(places.map { batch.events[$0] })
        }
    }

    func leavesSome() throws -> Remains {
        var remains = Remains()
        remains.add(try append(0..<60, criticalAt: 3))
        try settleSome(&remains)
        return remains
    }

    func continues(with earlier: Remains) throws -> Remains {
        try require(!store.backlog.isEmpty, "the backlog must contain the events of an earlier process")
        var remains = earlier
        remains.add(try append(60..<90, criticalAt: 3))
        try settleSome(&remains)
        return remains
    }

    func finds(_ remains: Remains) throws {
        let count = remains.waiting.count
        try require(
            store.backlog.isEmpty == (count == 0),
            "the backlog must contain the events of an earlier process, and no others: it is \(store.backlog)")
        let events = try takeAll(BatchSize(events: 50, bytes: .max), settling: true).flatMap(\.events)
        try remains.check(events, areAll: true)
        try require(
            reports.withLock { $0.recovered } == count,
            "events of an earlier process must be reported as recovered, once each")
        try requireBacklog(0, "after all batches were settled,")
    }

    /// - Returns: Whether the store keeps dead letters.
    func leavesDeadLetters(_ numbers: Range<Int>) throws -> Bool {
        try append(numbers)
        if let batch = try store.nextBatch(BatchSize(events: 20, bytes: .max)) {
            // The process ends before the batch is settled.
            store.reject([DeadLetter(line: batch.events[0], reason: "a sample", date: StoreCheck.date)], in: batch.id)
        }
        return store.backlog.deadLetters == 1
    }

    func findsDeadLetters(_ numbers: Range<Int>) throws {
        let lines = try Samples.lines(numbers)
        try require(
            try store.deadLetters().map(\.line) == [lines[0]] && store.backlog.deadLetters == 1,
            "dead letters of an earlier process must be listed and counted")
        let events = try takeAll(BatchSize(events: 50, bytes: .max), settling: true).flatMap(\.events)
        try require(
            events == Array(lines.dropFirst()), "a later process must return all events except the rejected one")
    }
}
