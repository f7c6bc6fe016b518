import ArgumentParser
import Foundation
import Sluice
import SluiceJSONL
import StoreFiles

/// `sluice export`
struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "Prints the events of a folder, waiting ones and dead letters, as lines of JSON, or writes CSV or Parquet.",
        discussion: """
            Reads the directories of running processes, too. An event of several routes is printed once. CSV and Parquet are \
            made by the program duckdb. Exits with 1 if a file or a line can't be read.

            EXAMPLES
              sluice export events | gzip > events.ndjson.gz
              sluice export events --user ada@example.org
              sluice export events --format parquet --output events.parquet
            """)

    enum Format: String, CaseIterable, ExpressibleByArgument {
        case ndjson
        case csv
        case parquet
    }

    @OptionGroup var store: FolderArgument
    @OptionGroup var route: RouteOption

    @Option(help: "Only the events with this distinct id, anonymous id or login id.")
    var user: String?

    @Option(help: "ndjson, csv or parquet.")
    var format = Format.ndjson

    @Option(help: "The file to write. Standard output by default, for ndjson only.", completion: .file())
    var output: String?

    func validate() throws {
        if format != .ndjson, output == nil {
            throw ValidationError("--format \(format.rawValue) needs a file: pass --output events.\(format.rawValue)")
        }
    }

    func run() async throws {
        let folder = try route.folder(store)
        var isComplete = true
        if format != .ndjson, let output {
            let lines = NSTemporaryDirectory() + "sluice-\(UUID().uuidString).ndjson"
            defer { unlink(lines) }
            isComplete = try Export.events(of: user, from: folder, to: lines)
            let options = [("--route", route.route), ("--user", user), ("--output", "events.ndjson")]
            let words = options.flatMap { name, text in text.map { [name, $0] } ?? [] }
            try DuckDB.convert(lines, to: output, format, again: ["sluice", "export", folder.path] + words)
        } else {
            isComplete = try Export.events(of: user, from: folder, to: output)
        }
        guard isComplete else { throw ExitCode.failure }
    }

    /// Writes the events of a person, or all, to a file or to standard output.
    ///
    /// - Returns: Whether all could be read. The problems are printed.
    static func events(of user: String?, from folder: StoreFolder, to path: String?) throws -> Bool {
        let output = try path.map { try OutputFile($0) }
        var scan = FolderScan(EventQuery())
        var printed = 0
        var failure: WriteFailure?
        try scan.read(folder) { _ in
            failure == nil
        } onMatch: { found in
            if let user, !found.event.users.contains(user) { return }
            guard let line = found.place.line, found.isFirst, failure == nil else { return }
            printed += 1
            guard let output else { return print(line) }
            do throws(WriteFailure) {
                try Terminal.write(line.bytes + [0x0A], to: output.descriptor)
            } catch {
                failure = error
            }
        }
        if let failure { throw CollectProblem(path ?? "", failure.code) }
        for problem in scan.problems { Terminal.note("\(problem)") }
        if scan.unreadable > 0 {
            Terminal.note(
                "left out: \(Terminal.counted(scan.unreadable, "damaged or encrypted line")): see sluice verify")
        }
        if printed == 0 {
            Terminal.note(user.map { "no event has the id \($0)" } ?? "\(folder.path) has no events")
        } else if path != nil || user != nil {
            Terminal.note(Terminal.counted(printed, "event"))
        }
        return scan.problems.isEmpty && scan.unreadable == 0
    }

    private static func print(_ line: EventLine) {
        let text = String(decoding: line.bytes, as: UTF8.self)
        Terminal.writeJSON(text)
    }
}

/// A file that is written from its beginning.
private final class OutputFile {
    let descriptor: CInt

    init(_ path: String) throws(CollectProblem) {
        descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw CollectProblem(path) }
    }

    deinit { close(descriptor) }
}
