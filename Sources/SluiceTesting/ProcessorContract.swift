public import Sluice

/// Checks your ``Sluice/Processor`` against the promises of the protocol.
///
/// ```swift
/// try await ProcessorContract.check { Currency(code: "EUR") }
/// ```
public enum ProcessorContract {
    /// Puts the processor into a pipeline, tracks unusual events from several threads and between signals, and ends the
    /// pipeline.
    ///
    /// The processor must not crash, must return from every call, and must accept every signal at any time. It must keep
    /// each event with its id and a name, or drop it with a reason, and must not duplicate events. Events that it holds must
    /// end: they are forwarded or dropped until ``Sluice/Processor/finish()`` returns, and dropped in
    /// ``Sluice/Processor/forget()``. It must not call ``Sluice/PluginContext/track(_:_:priority:configure:)-(_,Properties,_,_)``
    /// while it processes an event.
    ///
    /// - Parameters:
    ///   - timeout: The time that the processor has to return. Its thread stays behind if it doesn't.
    ///   - isolation: The caller's actor, on which `make` runs.
    ///   - make: Makes the processor. It is called twice.
    /// - Throws: ``Sluice/SluiceError/Code/brokenContract`` with the broken promise, and errors of `make` and of
    ///   building the pipeline.
    public static func check(
        timeout: Duration = .seconds(60), isolation: isolated (any Actor)? = #isolation,
        _ make: () throws -> some Processor
    ) async throws {
        let processor = try make()
        let store = RecordingStore()
        let pipeline = try Pipeline {
            Entrance()
            processor
            store
            ScriptedTransport()
        }
        pipeline.pauseDelivery()
        let tracked = try await returning(
            within: timeout, orElse: "a processor must return from process, update and emit, and this one didn't"
        ) { try await use(pipeline) }
        try await returning(within: timeout, orElse: "a processor must return from finish, and this one didn't") {
            // Half of this time is for the processors.
            await pipeline.shutdown(timeout: timeout * 4)
        }
        try account(for: pipeline.ledger, store.events, tracked)
        try await returning(within: timeout, orElse: "a processor must return from forget, and this one didn't") {
            processor.forget()
        }
        let held = pipeline.ledger.held
        try require(
            held == 0,
            "\(held) held events never end: forward or drop them by the end of finish, or drop them in forget")
        try await checkForget(try make(), within: timeout)
    }

    /// Erases everything while the app is in the background, where a processor may hold events.
    private static func checkForget(_ processor: some Processor, within timeout: Duration) async throws {
        let pipeline = try Pipeline {
            processor
            RecordingStore()
            ScriptedTransport()
        }
        pipeline.pauseDelivery()
        for signal in [Signal.launched(.foreground), .didBecomeActive, .willResignActive, .didEnterBackground] {
            pipeline.signal(signal)
            for _ in 0..<50 { pipeline.track("Event") }
        }
        let held = pipeline.ledger.held
        try await returning(within: timeout, orElse: "a processor must return from forget, and this one didn't") {
            await pipeline.eraseEverything()
        }
        try require(
            pipeline.ledger.held == 0,
            "\(held) events are still held after eraseEverything: drop them in forget, because they are the user's data"
        )
        await pipeline.shutdown(timeout: timeout * 4)
    }

    /// Returns the ids of the tracked events.
    private static func use(_ pipeline: Pipeline) async throws -> Set<EventID?> {
        var ids: Set<EventID?> = []
        for sample in Samples.hostile {
            for priority in Event.Priority.allCases {
                ids.insert(try Entrance.track(sample.name, sample.properties, priority, pipeline))
            }
        }
        let signals: [Signal] = [
            .launched(.passive), .didBecomeActive, .willResignActive, .didEnterBackground, .launched(.foreground),
            .connectivity(.unavailable), .connectivity(.available), .didBecomeActive, .willTerminate,
        ]
        return try await withThrowingTaskGroup(of: Set<EventID?>.self) { group in
            for task in 0..<4 {
                group.addTask {
                    // The tasks of the group share a thread.
                    let result = await Task.runningOnOwnThread(hasThreads: true) {
                        Result {
                            try (0..<50).map {
                                try Entrance.track("Event \(task)", ["number": .int($0)], .normal, pipeline)
                            }
                        }
                    }
                    return Set(try result.get())
                }
            }
            for signal in signals { pipeline.signal(signal) }
            for try await others in group { ids.formUnion(others) }
            return ids
        }
    }

    private static func account(for ledger: Ledger, _ events: [Event], _ tracked: Set<EventID?>) throws {
        let dropped = ledger.dropped.merging(ledger.routes[0].dropped) { $0 + $1 }
        try require(ledger.tracked >= tracked.count, "a processor must not swallow events: drop them with a reason")
        try require(
            ledger.tracked == events.count + dropped.total + ledger.held,
            "of \(ledger.tracked) events \(events.count) were stored, \(dropped.total) dropped and \(ledger.held) held")
        try require(dropped.keys.allSatisfy { !$0.rawValue.isEmpty }, "a reason for dropping an event must have a name")
        try require(
            dropped[.emptyName, default: 0] <= Samples.namelessCount,
            "a processor must leave each event a name: drop the event with a reason instead")
        var ids: Set<EventID?> = []
        for event in events {
            try require(ids.insert(event.id).inserted, "the event \(event.id) was stored twice")
        }
        try require(
            ids.subtracting(tracked).count <= ledger.tracked - tracked.count,
            "a processor must leave each event its id: the receiver recognizes a repeated event by it")
    }
}

/// Counts how many events enter while one is tracked.
private struct Entrance: Processor {
    @TaskLocal private static var events: Locked<Int>?

    func process(_ event: inout Event) -> Disposition {
        Entrance.events?.withLock { $0 += 1 }
        return .keep
    }

    static func track(
        _ name: String, _ properties: Properties, _ priority: Event.Priority, _ pipeline: Pipeline
    ) throws -> EventID? {
        let events = Locked(0)
        // The event's own id is here: `track` returns the id that the processors have left.
        var id: EventID?
        $events.withValue(events) { _ = pipeline.track(name, properties, priority: priority) { id = $0.id } }
        try require(
            events.withLock(\.self) <= 1,
            "a processor must not call track in process, because the new event comes to it too: call context.insert")
        return id
    }
}
