// Writes a week of a shop's events to a folder of compressed files, and asks the user's own `duckdb` about them:
//
//     swift run FileTransportExample [FOLDER]

import Foundation
import SluiceFiles
import SluiceMemory
import SluiceTesting

let folder =
    CommandLine.arguments.dropFirst().first
    ?? FileManager.default.temporaryDirectory.appending(path: "lake-\(UUID().uuidString)").path
// A clock that this program sets. Your app needs none.
let clock = VirtualTime(wallTime: Timestamp(milliseconds: 1_796_083_200_000))  // 2026-12-01
let pipeline: Pipeline
do {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    pipeline = try Pipeline(
        delivery: .files, environment: PipelineEnvironment(time: clock), onDiagnostic: { print($0) }
    ) {
        // Use a JSONLStore in an app: its events outlive the process.
        MemoryStore(capacity: 64 << 20)
        FileTransport(at: folder)
    }
} catch {
    let reason = (error as? SluiceError).map { "\($0)" } ?? error.localizedDescription
    print("\(folder) can't be used: \(reason)\nusage: FileTransportExample [FOLDER]")
    exit(64)  // EX_USAGE
}

for number in 0..<7_000 {
    if number % 1_000 == 0, number > 0 { clock.advance(by: .seconds(86_400)) }
    pipeline.track("ProductViewed", ["product": .int(number % 40)])
    if number % 10 == 0 {
        pipeline.track("Purchase", ["amount": .double(Double(number % 7) + 0.99), "$app_version": "1.2"])
    }
}
await pipeline.flush()
print(await pipeline.shutdown())

// What is in the folder.
let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
for name in names.filter({ $0.hasSuffix(".gz") }).sorted() { print(name) }

let query = """
    SELECT date, count(*) AS events, round(sum((properties->>'$.amount')::DOUBLE), 2) AS revenue
    FROM read_json('\(folder)/*/*.ndjson.gz', hive_partitioning = true, hive_types = {date: VARCHAR},
        columns = {event: 'VARCHAR', time: 'BIGINT', properties: 'JSON'})
    GROUP BY date ORDER BY date
    """

/// Runs a program of the system. Returns false if it is missing.
func run(_ arguments: [String]) throws -> Bool {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = arguments
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus == 0
}

if try !run(["duckdb", "-c", query]) {
    print("Install duckdb (https://duckdb.org) to see the result of this query:\n\(query)")
}
