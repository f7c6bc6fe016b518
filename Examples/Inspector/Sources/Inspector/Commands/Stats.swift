import ArgumentParser
import Sluice
import StoreFiles

/// `sluice stats`
struct Stats: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Counts waiting events and dead letters by route, event, priority, age and directory.",
        discussion: """
            Also prints what each route's host does, its last failure and its next attempt.

            EXAMPLES
              sluice stats events
              sluice stats events --json | jq '.routes[] | select(.waiting > 1000)'
              sluice stats events --prometheus > new && mv new sluice.prom
            """)

    @OptionGroup var store: FolderArgument
    @OptionGroup var route: RouteOption

    @Option(parsing: .unconditional, help: "The capacity that the host passes to its store, in bytes.")
    var capacity = 10_485_760

    @Flag(help: "Print one object of JSON.")
    var json = false

    @Flag(help: "Print metrics in the text format of Prometheus, for the text files of its node exporter.")
    var prometheus = false

    func validate() throws {
        guard capacity > 0 else { throw ValidationError("--capacity must be more than 0") }
        guard !json || !prometheus else { throw ValidationError("--json and --prometheus exclude each other") }
    }

    func run() async throws {
        let now = PipelineEnvironment.systemTime.wallTime()
        let folder = try route.folder(store)
        let statistics = try StoreStatistics(of: folder, at: now)
        if json {
            let text = StatisticsJSON(statistics: statistics, capacity: capacity).text
            Terminal.writeJSON(text)
        } else if prometheus {
            Terminal.write(StatisticsMetrics(statistics: statistics).text)
        } else {
            StatisticsReport(statistics: statistics, capacity: capacity, folder: folder.path, output: Terminal.write)
                .write()
        }
        for problem in statistics.problems { Terminal.note("\(problem)") }
        guard statistics.problems.isEmpty else { throw ExitCode.failure }
    }
}
