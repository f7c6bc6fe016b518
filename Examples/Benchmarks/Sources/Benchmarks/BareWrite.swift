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
