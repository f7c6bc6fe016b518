import ArgumentParser
import Sluice
import StoreFiles

/// `sluice stats`
struct Stats: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Counts waiting events and dead letters by event, priority, age and process.")

    @OptionGroup var store: FolderArgument

    @Option(help: "The capacity that the host passes to its store, in bytes.")
    var capacity = 10_485_760

    func validate() throws {
        guard capacity > 0 else { throw ValidationError("--capacity must be more than 0") }
    }

    func run() async throws {
        let now = PipelineEnvironment.systemTime.wallTime()
        let statistics = try StoreStatistics(of: store.folder(), at: now)
        StatisticsReport(statistics: statistics, capacity: capacity, output: Terminal.write).write()
        for problem in statistics.problems { Terminal.note("\(problem)") }
        guard statistics.problems.isEmpty else { throw ExitCode.failure }
    }
}

/// The statistics as text.
struct StatisticsReport {
    let statistics: StoreStatistics
    let capacity: Int
    /// Called with each row, because the names of events take much memory.
    let output: (String) -> Void

    /// The longest text of a name.
    private static let longestName = 100

    func write() {
        table([
            ["waiting", "\(statistics.waiting)", size(statistics.waitingBytes)],
            ["dead letters", "\(statistics.deadLetters)", size(statistics.deadLetterBytes)],
            ["damaged lines", "\(statistics.damaged)"],
        ])
        if statistics.encrypted > 0 { table([["encrypted", "\(statistics.encrypted)"]]) }
        if let oldest = statistics.oldest { output("oldest waiting event: \(oldest)\n") }
        section(
            ["event", "waiting", "dead letters"],
            statistics.names.map { [displayed($0.name), "\($0.count.waiting)", "\($0.count.deadLetters)"] })
        section(
            ["priority", "waiting"],
            [Event.Priority.critical, .normal].map { ["\($0)", "\(statistics.priorities[$0] ?? 0)"] })
        section(
            ["age", "waiting"],
            zip(StoreStatistics.ageLimits, statistics.ages).map { [$0.name, "\($1)"] })
        section(
            ["process", "state", "waiting", "dead letters", "bytes", "of \(size(capacity))"],
            statistics.processes.map { process in
                [
                    process.name, process.isRunning ? "running" : "ended", "\(process.waiting)",
                    "\(process.deadLetters)", "\(process.bytes)", "\(process.bytes * 100 / capacity) %",
                ]
            })
    }

    private func displayed(_ name: String) -> String {
        Terminal.printable(Terminal.beginning(of: name, characters: StatisticsReport.longestName))
    }

    private func section(_ header: [String], _ rows: [[String]]) {
        if rows.isEmpty { return }
        output("\n")
        table([header] + rows)
    }

    /// Aligns the first column to the left, and numbers to the right.
    private func table(_ rows: [[String]]) {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in rows.map { $0.count > column ? $0[column].count : 0 }.max() ?? 0 }
        for row in rows {
            let cells = row.enumerated().map { column, cell in
                let padding = String(repeating: " ", count: widths[column] - cell.count)
                return column == 0 ? cell + padding : padding + cell
            }
            output(cells.joined(separator: "  ") + "\n")
        }
    }

    private func size(_ bytes: Int) -> String {
        switch bytes {
        case ..<10_240: "\(bytes) B"
        case ..<10_485_760: "\(bytes / 1_024) KiB"
        default: "\(bytes / 1_048_576) MiB"
        }
    }
}
