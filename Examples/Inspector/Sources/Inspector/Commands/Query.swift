import ArgumentParser
import Foundation
import StoreFiles

/// `sluice query`
struct Query: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Answers a question about the events of a lake or of a store, by the program duckdb.",
        discussion: """
            The table events has the columns id, event, time (ms since 1970), priority, distinct_id, anonymous_id, login_id, \
            properties (JSON) and date, and hour if a lake has hours. A store's events are exported to a temporary file first, \
            also while processes use it. \
            Exits with 1 if the query fails, or if a file or a line of the store can't be read.

            EXAMPLES
              sluice query "SELECT date, count(*) FROM events GROUP BY date" lake
              sluice query "SELECT properties->>'$.sku' FROM events" events --format json
            """)

    enum Format: String, CaseIterable, ExpressibleByArgument {
        case table
        case csv
        case json
    }

    @Argument(help: "The query, in the SQL of DuckDB.")
    var sql: String

    @OptionGroup var folder: FolderArgument

    @Option(help: "table, csv or json.")
    var format = Format.table

    func run() async throws {
        let options = format == .table ? [] : ["-\(format.rawValue)"]
        if let lake = try folder.lake() {
            guard let view = try DuckDB.view(of: lake) else { throw NotAStore("\(lake.path) has no files of events") }
            return try DuckDB.query(sql, view, options)
        }
        let lines = NSTemporaryDirectory() + "sluice-\(UUID().uuidString).ndjson"
        defer { unlink(lines) }
        let isComplete = try Export.events(of: nil, from: folder.folder(), to: lines)
        try DuckDB.query(sql, DuckDB.view(of: lines), options)
        guard isComplete else { throw ExitCode.failure }
    }
}
