import Foundation

/// The least that an event on disk can cost: one write(2) of the line that Sluice has stored.
struct BareWrite: Candidate {
    static let name = "write"

    let rows = [
        Row(name: BareWrite.name, description: "write(2) of the lines that Sluice stored", label: "bare write(2)")
    ]
    let workload: Workload

    func measure(_ events: Int, in folder: String) throws -> [Double] {
        let file = try LineFile(folder + "/events.jsonl")
        let time = CPUTime()
        for index in 0..<events {
            workload.lines[index].withUnsafeBytes { file.append($0) }
        }
        let cost = time.nanoseconds(for: events)
        try Failure.unless(Files.lineCount(under: folder), is: events, "lines")
        return [cost]
    }
}

/// write(2) of the same lines by one thread and by two, in wall time: the upper bound for threads that share one file.
struct BareWriteThreads: Candidate {
    let rows = [
        Row(
            name: "write-threads-1", description: "write(2) of the lines by one thread", unit: .throughput,
            baseline: nil),
        Row(
            name: "write-threads-2", description: "by two threads into the same file", unit: .throughput,
            baseline: "write-threads-1"),
    ]
    let workload: Workload

    func measure(_ events: Int, in folder: String) throws -> [Double] {
        try [1, 2].map { threads in
            let path = "\(folder)/\(threads)"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            let file = try LineFile(path + "/events.jsonl")
            let lines = workload.lines
            let result = throughput(of: 10 * events, threads: threads) { _, indices in
                for index in indices { lines[index % events].withUnsafeBytes { file.append($0) } }
            }
            try Failure.unless(Files.lineCount(under: path), is: 10 * events, "lines")
            return result
        }
    }
}
