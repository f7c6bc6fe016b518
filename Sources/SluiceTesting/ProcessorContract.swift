public import Sluice

/// Checks your ``Sluice/Processor`` against the promises of the protocol.
///
/// ```swift
/// try await ProcessorContract.check { Currency(code: "EUR") }
/// ```
public enum ProcessorContract {
    /// Puts the processor into a pipeline, and tracks unusual events from several threads and between signals.
    ///
    /// The processor must not crash, and must accept every signal at any time. It must keep each event or drop it with
    /// a reason, and must not duplicate events.
    ///
    /// - Parameter make: Makes the processor.
    /// - Throws: ``Sluice/SluiceError/Code/brokenContract`` with the broken promise, and errors of `make` and of
    ///   building the pipeline.
    public static func check(_ make: () throws -> some Processor) async throws {
        let processor = try make()
        let store = RecordingStore()
        let pipeline = try Pipeline {
            processor
            store
            ScriptedTransport()
        }
        pipeline.pauseDelivery()
        for sample in Samples.hostile {
            for priority in Event.Priority.allCases {
                pipeline.track(sample.name, sample.properties, priority: priority)
            }
        }
        let signals: [Signal] = [
            .launched(.passive), .didBecomeActive, .willResignActive, .didEnterBackground, .launched(.foreground),
            .connectivity(.unavailable), .connectivity(.available), .didBecomeActive, .willTerminate,
        ]
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<4 {
                group.addTask {
                    for number in 0..<50 { pipeline.track("Event \(task)", ["number": .int(number)]) }
                }
            }
            for signal in signals { pipeline.signal(signal) }
        }
        try account(for: pipeline.ledger, store, atLeast: Samples.hostile.count * 2 + 200)
    }

    private static func account(for ledger: Ledger, _ store: RecordingStore, atLeast tracked: Int) throws {
        let dropped = ledger.dropped.merging(ledger.routes[0].dropped) { $0 + $1 }
        let events = store.events
        try require(ledger.tracked >= tracked, "a processor must not swallow events: drop them with a reason")
        try require(
            ledger.tracked == events.count + dropped.total + ledger.held,
            "of \(ledger.tracked) events \(events.count) were stored, \(dropped.total) dropped and \(ledger.held) held")
        try require(
            dropped.keys.allSatisfy { !$0.rawValue.isEmpty }, "a reason for dropping an event must have a name")
        var ids: Set<EventID> = []
        for event in events {
            try require(ids.insert(event.id).inserted, "the event \(event.id) was stored twice")
        }
    }
}

func require(_ condition: Bool, _ promise: @autoclosure () -> String) throws(SluiceError) {
    if !condition { throw SluiceError(.brokenContract, promise()) }
}
