import ArgumentParser
import Foundation
import StoreFiles

/// The program `duckdb`, where it is installed.
enum DuckDB {
    private static let columns =
        "columns = {id: 'VARCHAR', event: 'VARCHAR', time: 'BIGINT', priority: 'VARCHAR', distinct_id: 'VARCHAR', "
        + "anonymous_id: 'VARCHAR', login_id: 'VARCHAR', properties: 'JSON'}"

    /// A text between quotes. By scalars, because a quote with a combining mark is another character of Swift.
    private static func quoted(_ text: String, quote: String = "''") -> String {
        "'\(text.unicodeScalars.map { $0 == "'" ? quote : String($0) }.joined())'"
    }

    /// A command as one types it in a shell.
    private static func command(_ words: [String]) -> String {
        words.map { $0.contains(/[^\w\/.,:@=-]/) ? quoted($0, quote: #"'\''"#) : $0 }.joined(separator: " ")
    }

    /// The lines of a file, or of several with a pattern.
    private static func lines(_ paths: [String], _ options: String = "") -> String {
        let list = paths.count == 1 ? quoted(paths[0]) : "[\(paths.map { quoted($0) }.joined(separator: ", "))]"
        return "read_json(\(list), format = 'newline_delimited', \(options)\(columns))"
    }

    // MARK: Statements

    /// The statement that writes events as a table.
    static func statement(_ lines: String, to output: String, _ format: Export.Format) -> String {
        "COPY (SELECT * REPLACE (epoch_ms(time) AS time) FROM \(self.lines([lines]))) TO \(quoted(output)) "
            + "(FORMAT \(format.rawValue))"
    }

    /// The statement that makes the view `events` of a lake. Nil if it has no files.
    ///
    /// Files of dates and of hours have different columns, and a pattern without a file would be an error. `path` leads to
    /// the lake, and is no pattern itself.
    static func view(of lake: LakeFolder, at path: String) throws -> String? {
        let (files, unlisted) = try lake.files()
        if let problem = unlisted.first { throw problem }
        let parts = [false, true].compactMap { hasHour -> String? in
            let patterns = [true, false].filter { isCompressed in
                files.contains { $0.hasHour == hasHour && $0.isCompressed == isCompressed }
            }.map { "\(path)/date=*/\(hasHour ? "hour=*/" : "")*.ndjson\($0 ? ".gz" : "")" }
            let types = "hive_partitioning = true, hive_types = {date: VARCHAR\(hasHour ? ", hour: VARCHAR" : "")}, "
            return patterns.isEmpty ? nil : "SELECT * FROM \(lines(patterns, types))"
        }
        return parts.isEmpty ? nil : "CREATE VIEW events AS \(parts.joined(separator: " UNION ALL BY NAME "))"
    }

    /// The statement that makes the same view of exported lines.
    static func view(of file: String) -> String {
        "CREATE VIEW events AS SELECT *, strftime(epoch_ms(time), '%Y-%m-%d') AS date FROM \(lines([file]))"
    }

    // MARK: The program

    /// - Parameter again: The command that writes the lines, for the advice.
    static func convert(_ lines: String, to output: String, _ format: Export.Format, again: [String]) throws {
        guard let program else {
            Terminal.note("duckdb is not installed, and makes \(format.rawValue). Install it, or run it elsewhere:")
            Terminal.note("  \(command(again))")
            Terminal.note("  \(command(["duckdb", "-c", statement("events.ndjson", to: output, format)]))")
            throw ExitCode.failure
        }
        try run(program, ["-c", statement(lines, to: output, format)], output: .nullDevice)
    }

    /// Prints the result of a query.
    static func query(_ query: String, _ view: String, _ options: [String]) throws {
        guard let program else {
            Terminal.note("duckdb is not installed. Install it, and repeat the command:")
            Terminal.note("  pip install duckdb-cli, brew install duckdb, or one file from https://duckdb.org/install")
            throw ExitCode.failure
        }
        // A command of its own makes the view, so that errors show only the query.
        try run(program, options + ["-cmd", view, "-c", query], output: .standardOutput)
    }

    private static var program: String? { ProcessInfo.processInfo.program("duckdb") }

    private static func run(_ program: String, _ arguments: [String], output: FileHandle) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardOutput = output
        try process.run()
        // Ctrl-C ends the program. This command then removes the file of events that the program has read.
        let handlers = [SIGINT, SIGQUIT].map { ($0, signal($0, SIG_IGN)) }
        process.waitUntilExit()
        for (number, handler) in handlers { signal(number, handler) }
        guard process.terminationStatus == 0 else { throw ExitCode.failure }
    }
}
