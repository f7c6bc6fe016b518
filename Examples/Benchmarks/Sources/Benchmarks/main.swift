// What an event costs, in Sluice and elsewhere:
//
//     swift run -c release --package-path Examples/Benchmarks Benchmarks
//
// The candidates take turns, round after round, so that what slows the machine down for a while slows all of them.

import Foundation
import Sluice

/// The folder of all rounds, which is removed when the last is over: for a while ext4 looks at every inode that was freed
/// just before it gives a new file one, so that whoever makes files next would pay for what another one removed.
let root = FileManager.default.temporaryDirectory.appending(path: "sluice-benchmarks-\(UUID().uuidString)")

/// Makes an empty folder.
func newFolder() throws -> String {
    let folder = root.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder.path
}

func candidates(_ workload: Workload) -> [any Candidate] {
    var candidates: [any Candidate] = [
        BareWrite(workload: workload),
        SluiceTrack(row: "track", description: "track through six stages into JSONLStore"),
        SluiceTrack(row: "no-stages", description: "track through no stage into JSONLStore", hasStages: false),
        SluiceTrack(row: "memory-store", description: "track through six stages into MemoryStore", isOnDisk: false),
        SluiceEncoding(workload: workload),
        SluiceDelivery(),
        JSONEncoderFile(workload: workload),
        SwiftLogFile(workload: workload),
    ]
    #if GRDB
        candidates += [1, 100].map { GRDBInserts(eventsPerTransaction: $0, workload: workload) }
    #endif
    return candidates
}

func measure(_ options: Options) async throws {
    let workload = try await Workload(events: options.events, in: newFolder())
    let chosen = candidates(workload).filter { candidate in
        candidate.row == BareWrite.name || options.filter.isEmpty || candidate.row.contains(options.filter)
    }
    if !options.isJSON {
        print(
            "\(Machine.description); Swift \(Machine.swiftVersion); \(options.rounds) rounds of \(options.events) events;",
            "\(workload.bytesPerLine) bytes a line")
        if !Machine.isOptimized { print("Built without optimisation: build with -c release for numbers that count.") }
    }
    var report = Report(
        baseline: BareWrite.name, rows: chosen.map { Report.Row(name: $0.row, description: $0.description) })
    // Before the first round that counts, one that warms up caches and allocators.
    for round in 0...options.rounds {
        for (index, candidate) in chosen.enumerated() {
            let nanoseconds: Int
            do {
                nanoseconds = try await candidate.nanoseconds(for: options.events, in: newFolder())
            } catch {
                throw Failure("\(candidate.row): \(error)")
            }
            if round > 0 { report.rows[index].rounds.append(Double(nanoseconds) / Double(options.events)) }
        }
    }
    print(options.isJSON ? report.json : report.table)
}

do {
    let outcome: Result<Void, any Error>
    do {
        outcome = .success(try await measure(Options(CommandLine.arguments.dropFirst())))
    } catch {
        outcome = .failure(error)
    }
    if FileManager.default.fileExists(atPath: root.path) { try FileManager.default.removeItem(at: root) }
    try outcome.get()
} catch {
    FileHandle.standardError.write(Data("\(error)\n".utf8))
    exit(1)
}
