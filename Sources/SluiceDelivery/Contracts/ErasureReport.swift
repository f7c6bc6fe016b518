/// The result of `Pipeline.eraseEverything()`.
///
/// ```swift
/// let report = await pipeline.eraseEverything()
/// print("\(report.events) events, \(report.deadLetters) dead letters, \(report.states) states are erased")
/// ```
public struct ErasureReport: Sendable, Hashable {
    /// The number of removed events: waiting events of all routes, and events that processors held.
    public let events: Int
    /// The number of removed dead letters.
    public let deadLetters: Int
    /// The number of removed states of processors, such as the state of an `Identity`. A state that was in memory only
    /// doesn't count.
    public let states: Int
    /// Whether everything is gone. False if the pipeline is shut down, or if something could not be read or removed,
    /// which the diagnostics report.
    public let isComplete: Bool

    package init(from before: Ledger, to after: Ledger, states: Int, isComplete: Bool) {
        func sum(_ ledger: Ledger) -> Int {
            ledger.routes.reduce(ledger.dropped[.deleted] ?? 0) { $0 + ($1.dropped[.deleted] ?? 0) }
        }
        func letters(_ ledger: Ledger) -> Int {
            ledger.routes.reduce(0) { $0 + ($1.droppedDeadLetters[.deleted] ?? 0) }
        }
        events = sum(after) - sum(before)
        deadLetters = letters(after) - letters(before)
        self.states = states
        self.isComplete = isComplete
    }
}

extension ErasureReport: CustomStringConvertible {
    /// The counts in one line, and whether something is left.
    ///
    /// ```swift
    /// print(await pipeline.eraseEverything())
    /// // erased events: 2, dead letters: 0, states: 3
    /// ```
    public var description: String {
        "erased events: \(events), dead letters: \(deadLetters), states: \(states)"
            + (isComplete ? "" : "; something is left, see the diagnostics")
    }
}
