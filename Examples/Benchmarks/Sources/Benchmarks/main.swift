// Measures the cost of an event, in Sluice and in other libraries:
//
//     swift run -c release --package-path Examples/Benchmarks Benchmarks
//
// The candidates take turns, round after round, so that other load of the machine slows all of them.

import CBenchmarks
import Foundation
import SluiceJSONL

/// The folder of all rounds. It is removed after the last one: ext4 looks at each recently freed inode before it creates a
/// file, so a candidate would pay for the files that another one removed.
let root = FileManager.default.temporaryDirectory.appending(path: "sluice-benchmarks-\(UUID().uuidString)")

/// Creates an empty folder.
func newFolder() throws -> String {
    let folder = root.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder.path
}

/// Candidates that take turns.
struct Phase {
    var isOneRound = false
    var candidates: [any Candidate]
}

/// The phases, ordered so that candidates that remove files come last.
func phases(_ workload: Workload, _ options: Options, sink: String) throws -> [Phase] {
    #if GRDB
        let grdb = [1, 100].map { GRDBInserts(eventsPerTransaction: $0, workload: workload) }
    #else
        let grdb: [any Candidate] = []
    #endif
    return [
        Phase(
            isOneRound: true,
            candidates: [SluiceIdle(sink: sink), SluiceAllocations(), SluiceSystemCalls()]),
        Phase(
            candidates: [
                BareWrite(workload: workload),
                SluiceTrack("track", "track through six stages into JSONLStore", label: "Sluice, durable"),
                SluiceTrack("buffered", "the same, buffered", label: "Sluice, buffered", .disk(.buffered)),
                SluiceTrack(
                    "together", "the same, durable, all events by trackTogether", label: "Sluice, durable together",
                    group: .max),
                SluiceTrack("together-1000", "the same in groups of 1,000", group: 1_000),
                SluiceTrack("together-20", "the same in groups of 20", group: 20),
                SluiceTrack(
                    "together-no-stages", "all events by trackTogether, through no stage", hasStages: false, group: .max
                ),
                SluiceTrack("no-stages", "track through no stage into JSONLStore", hasStages: false),
                SluiceTrack("memory-store", "track through six stages into MemoryStore", .memory),
                SluiceEncoding(workload: workload),
                SluiceStage(),
                SluiceProperties(),
                SwiftLogFile(workload: workload),
                JSONEncoderFile(workload: workload),
            ] + grdb),
        // In a phase of their own, because the system stays busy for a while after these rows have written.
        Phase(candidates: [SluiceThreads(), BareWriteThreads(workload: workload)]),
        Phase(candidates: [
            SluiceDelivery(),
            SluiceSteady(),
            SluiceSoon(workload: workload),
            try HTTPDelivery(batch: 50, sink: sink, workload: workload),
            try HTTPDelivery(batch: 250, sink: sink, workload: workload),
            try CurlCommand(batch: 50, sink: sink, workload: workload),
            try CurlCommand(batch: 250, sink: sink, workload: workload),
            try SluiceBacklog(segments: options.segments, folder: newFolder()),
        ]),
        Phase(candidates: [SluiceFull(workload: workload)]),
        Phase(candidates: [ToolLaunches(sink: sink)]),
        Phase(isOneRound: true, candidates: [SluiceLake()]),
        Phase(isOneRound: true, candidates: [SluiceMemoryGrowth(), SluiceRoundTrip()]),
    ]
}

/// Leaves the candidates with a row that contains one of the texts, and those with the baselines of these rows.
func filter(_ phases: [Phase], by texts: [String]) -> [Phase] {
    let rows = phases.flatMap { $0.candidates.flatMap(\.rows) }
        .filter { row in texts.isEmpty || texts.contains { row.name.contains($0) } }
    let names = Set(rows.map(\.name) + rows.compactMap(\.baseline))
    return phases.map { phase in
        Phase(
            isOneRound: phase.isOneRound,
            candidates: phase.candidates.filter { $0.rows.contains { names.contains($0.name) } })
    }
}

func measure(_ options: Options) async throws {
    // First, because a fork copies each page that the parent writes afterwards.
    let port = benchmarks_start_sink()
    guard port > 0 else { throw Failure("the sink can't be started: \(String(cString: strerror(errno)))") }
    let workload = try await Workload(events: options.events, in: newFolder())
    let caption =
        "\(Machine.description); Swift \(Machine.swiftVersion); \(options.rounds) rounds of \(options.events) events; "
        + "\(workload.bytesPerLine) bytes a line"
    if options.output == .text {
        print(caption)
        if !Machine.isOptimized { print("Built without optimization: build with -c release for meaningful numbers.") }
    }
    let phases = filter(
        try phases(workload, options, sink: "http://127.0.0.1:\(port)/events"), by: options.filter)
    var report = Report(rows: phases.flatMap { $0.candidates.flatMap(\.rows) })
    for phase in phases {
        // The first round fills caches and allocators, and doesn't count.
        for round in (phase.isOneRound ? 1 : 0)...(phase.isOneRound ? 1 : options.rounds) {
            for candidate in phase.candidates {
                do {
                    let values = try await candidate.measure(options.events, in: newFolder())
                    if round > 0 { report.add(values, of: candidate.rows) }
                } catch {
                    throw Failure("\(candidate.rows[0].name): \(error)")
                }
            }
        }
    }
    switch options.output {
    case .text: print(report.text)
    case .json: print(report.json)
    case .markdown: print(report.markdown)
    }
    if let chart = options.chart {
        try Chart(lines: report.lines, caption: caption).svg.write(toFile: chart, atomically: true, encoding: .utf8)
    }
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
