/// The least that an event on disk can cost: one write(2) of the very line that Sluice has stored.
struct BareWrite: Candidate {
    static let name = "write"

    let row = BareWrite.name
    let description = "write(2) of the lines that Sluice stored"

    let workload: Workload

    func nanoseconds(for events: Int, in folder: String) throws -> Int {
        let file = try LineFile(folder + "/events.jsonl")
        let time = CPUTime()
        for index in 0..<events {
            workload.lines[index].withUnsafeBytes { file.append($0) }
        }
        let nanoseconds = time.nanoseconds
        try Failure.unless(Files.lineCount(under: folder), is: events, "lines")
        return nanoseconds
    }
}
