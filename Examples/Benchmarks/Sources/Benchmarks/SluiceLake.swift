import Foundation

/// A large backlog that is written to a lake by a process of its own, beside `cp` and `gzip -1` of the same lines.
///
/// All leave their files on the drive, not in the system's memory, and remove the files of the backlog from it.
struct SluiceLake: Candidate {
    let rows = [
        Row(name: "remove", description: "rm of the backlog's files", unit: .speed, baseline: nil),
        Row(
            name: "cp", description: "cp and sync of the lines, rm of the backlog's files", unit: .speed, baseline: nil),
        Row(name: "lake", description: "from JSONLStore by FileTransport, plain", unit: .speed, baseline: "cp"),
        Row(name: "gzip-1", description: "gzip -1 and sync of the lines, and this rm", unit: .speed, baseline: nil),
        Row(name: "lake-gzip", description: "from JSONLStore by FileTransport", unit: .speed, baseline: "gzip-1"),
        Row(
            name: "lake-memory", description: "the largest resident memory of the two", unit: Unit(name: "MB"),
            baseline: nil),
    ]

    func measure(_ events: Int, in folder: String) throws -> [Double] {
        #if os(Linux)
            // A million for 2,000 events a round.
            let events = events * 500
            let waiting = try run("LakeTool", ["fill", "\(folder)/queue", "\(events)"])
            try Failure.unless(Int(waiting) ?? 0, is: events, "waiting events")
            var (seconds, memory) = ([Double](repeating: .infinity, count: 5), 0.0)
            func turn(_ place: Int, _ work: () throws -> Double) throws {
                _ = try time("rm -rf \(folder)/[clo]*; cp -r \(folder)/queue \(folder)/copy && sync -f \(folder)")
                seconds[place] = min(seconds[place], try work())
            }
            func deliver(_ kind: String, to lake: String) throws -> Double {
                let arguments = [kind, "\(folder)/copy", "\(folder)/\(lake)"]
                let figures = try run("LakeTool", arguments).split(separator: " ").compactMap { Double($0) }
                try Failure.unless(Int(figures.first ?? 0), is: events, "delivered events")
                memory = max(memory, figures[2])
                return figures[1]
            }
            // The files to copy. The least time of three turns, because other load makes single ones longer.
            try turn(2) { try deliver("plain", to: "plain") }
            for _ in 0..<3 {
                try turn(0) { try time("rm -r \(folder)/copy") }
                try turn(1) {
                    try time("cd \(folder) && cp -r plain other && sync other/*/* && rm -r copy")
                }
                try turn(2) { try deliver("plain", to: "lake") }
                try turn(3) { try time("cd \(folder) && cat plain/*/* | gzip -1 > other && sync other && rm -r copy") }
                try turn(4) { try deliver("gzip", to: "lake") }
            }
            let bytes = try size(of: "\(folder)/plain")
            return seconds.map { bytes / $0 / 1_000_000 } + [memory]
        #else
            return []
        #endif
    }

    private func size(of folder: String) throws -> Double {
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder).filter { $0.hasSuffix(".ndjson") }
        return try names.reduce(0) { sum, name in
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")
            return sum + ((attributes[.size] as? NSNumber)?.doubleValue ?? 0)
        }
    }

    /// The time that a command of the shell takes.
    private func time(_ command: String) throws -> Double {
        let time = WallTime()
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", command]
        try process.run()
        process.waitUntilExit()
        try Failure.unless(Int(process.terminationStatus), is: 0, "as the status of \(command)")
        return time.seconds
    }
}

extension Unit {
    fileprivate static let speed = Unit(name: "MB/s", isMoreBetter: true)
}
