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
        let place = NSTemporaryDirectory() + "sluice-\(UUID().uuidString)"
        defer { unlink(place) }
        if let lake = try folder.lake() {
            // In the lake's own path, `?` would be a pattern, and a folder `id=5` a column.
            try FileManager.default.createSymbolicLink(
                atPath: place, withDestinationPath: URL(fileURLWithPath: lake.path).path)
            guard let view = try DuckDB.view(of: lake, at: place) else { throw NotAStore("\(lake.path) has no events") }
            return try DuckDB.query(sql, view, options)
        }
        let isComplete = try Export.events(of: nil, from: folder.folder(), to: place)
        try DuckDB.query(sql, DuckDB.view(of: place), options)
        guard isComplete else { throw ExitCode.failure }
    }
}
