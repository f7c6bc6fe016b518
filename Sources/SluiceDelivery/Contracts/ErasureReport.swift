/// The result of `Pipeline.eraseEverything()` and `Pipeline.erase(where:)`.
///
/// ```swift
/// let report = await pipeline.eraseEverything()
/// print("\(report.events) events, \(report.deadLetters) dead letters, \(report.states) states are erased")
/// ```
public struct ErasureReport: Sendable, Hashable {
    /// The number of removed events: waiting events of all routes, and events that processors held.
    public package(set) var events: Int
    /// The number of removed dead letters.
    public package(set) var deadLetters: Int
    /// The number of removed states of processors, such as the state of an `Identity`. A state that was in memory only
    /// doesn't count.
    public private(set) var states = 0
    /// The number of events that processors hold, and the places where `erase(where:)` could not erase now, each with the
    /// reason, such as a folder that a running process uses. `eraseEverything()` reports such places to the diagnostics instead.
    ///
    /// ```swift
    /// for problem in await pipeline.erase(where: { $0.distinctID == "42" }).left { print(problem) }
    /// ```
    public package(set) var left: [String]
    /// Whether everything is gone. False if the pipeline is shut down, or if something could not be read or removed,
    /// which ``left`` or the diagnostics report.
    public var isComplete: Bool { isEverythingGone && left.isEmpty }
    private var isEverythingGone = true

    /// Creates a report, in a store of your own.
    ///
    /// ```swift
    /// let report = ErasureReport(events: 2, deadLetters: 1)
    /// ```
    ///
    /// - Parameters:
    ///   - events: See ``events``.
    ///   - deadLetters: See ``deadLetters``.
    ///   - left: See ``left``.
    public init(events: Int = 0, deadLetters: Int = 0, left: [String] = []) {
        (self.events, self.deadLetters, self.left) = (events, deadLetters, left)
    }

    package init(from before: Ledger, to after: Ledger, states: Int, isComplete: Bool) {
        func sum(_ ledger: Ledger) -> Int {
            ledger.routes.reduce(ledger.dropped[.deleted] ?? 0) { $0 + ($1.dropped[.deleted] ?? 0) }
        }
        func letters(_ ledger: Ledger) -> Int {
            ledger.routes.reduce(0) { $0 + ($1.droppedDeadLetters[.deleted] ?? 0) }
        }
        self.init(events: sum(after) - sum(before), deadLetters: letters(after) - letters(before))
        (self.states, isEverythingGone) = (states, isComplete)
    }

    /// The sum of the counts of two erasures by `erase(where:)`.
    package static func + (first: ErasureReport, second: ErasureReport) -> ErasureReport {
        ErasureReport(
            events: first.events + second.events, deadLetters: first.deadLetters + second.deadLetters,
            left: first.left + second.left)
    }

    /// Names the events that processors hold, which the erasure can't see.
    package func noting(_ ledger: Ledger) -> ErasureReport {
        let held = ledger.routes.reduce(ledger.held) { $0 + $1.held }
        if held == 0 { return self }
        let events = held == 1 ? "a processor holds 1 event" : "processors hold \(held) events"
        var report = self
        report.left.append("\(events), which may belong to any person: repeat the erasure when none is held")
        return report
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
            + (isEverythingGone ? "" : "; something is left, see the diagnostics")
            + (left.isEmpty ? "" : "; left: \(left.joined(separator: "; "))")
    }
}
