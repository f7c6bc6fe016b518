import Sluice
import StoreFiles

/// The statistics as text.
struct StatisticsReport {
    let statistics: StoreStatistics
    let capacity: Int
    var folder = "the folder"
    /// Called with each row, because the names of events take much memory.
    let output: (String) -> Void

    /// The longest text of a name.
    private static let longestName = 100

    func write() {
        guard !statistics.isEmpty else { return output("nothing waits in \(Terminal.printable(folder))\n") }
        let routes = statistics.routes.count
        // An event waits in each of its routes.
        let total = routes > 1 ? "\(noun), sum of \(routes) routes" : noun
        table([
            [total, grouped(statistics.waiting), size(statistics.waitingBytes)],
            ["dead letters", grouped(statistics.deadLetters), size(statistics.deadLetterBytes)],
            ["damaged lines", grouped(statistics.damaged)],
        ])
        if statistics.encrypted > 0 { table([["encrypted", grouped(statistics.encrypted)]]) }
        if let oldest = statistics.oldest {
            output("oldest \(noun == "waiting" ? "waiting event" : "event"): \(oldest)\n")
        }
        writeRoutes()
        section(
            ["event", noun, "dead letters"],
            statistics.names.map { [displayed($0.name), grouped($0.count.waiting), grouped($0.count.deadLetters)] })
        if !statistics.priorities.isEmpty {
            section(
                ["priority", noun],
                [Event.Priority.critical, .normal].map { ["\($0)", grouped(statistics.priorities[$0] ?? 0)] })
        }
        if statistics.waiting > 0 {
            section(
                ["age", noun],
                zip(StoreStatistics.ageLimits, statistics.ages).map { [$0.name, grouped($1)] })
        }
        section(
            [noun == "waiting" ? "directory" : "day", "state", noun, "dead letters", "bytes", "of \(size(capacity))"],
            statistics.processes.map { process in
                [
                    process.name, process.route == nil ? "collected" : process.isRunning ? "running" : "ended",
                    grouped(process.waiting),
                    grouped(process.deadLetters), grouped(process.bytes), "\(process.bytes * 100 / capacity) %",
                ]
            })
    }

    private func writeRoutes() {
        section(
            ["route", "state", "waiting", "dead letters"],
            statistics.routes.map { route in
                let (waiting, deadLetters) = statistics.counts(of: route.name)
                return [Terminal.printable(route.name), route.state, grouped(waiting), grouped(deadLetters)]
            })
        for route in statistics.routes {
            guard let status = route.status else { continue }
            let name = Terminal.printable(route.name)
            if let failure = status.lastFailure {
                let time = Timestamp(milliseconds: status.at)
                output("\(name): the last failure, known since \(time): \(Terminal.printable(failure))\n")
            } else if let last = status.lastStatus {
                output("\(name): the last response had the status \(last)\n")
            }
            if let next = route.nextAttempt {
                output("\(name): the next attempt is at \(Timestamp(milliseconds: next))\n")
            }
        }
    }

    /// The heading of the numbers: collected events wait for nothing.
    private var noun: String { statistics.processes.contains { $0.route == nil } ? "events" : "waiting" }

    private func grouped(_ number: Int) -> String { Terminal.grouped(number) }

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
