import Sluice

/// An event to its line of JSON, and nothing else.
struct SluiceEncoding: Candidate {
    let row = "encode"
    let description = "an event to its line, no store"

    let workload: Workload

    func nanoseconds(for events: Int, in folder: String) throws -> Int {
        var bytes = 0
        let time = CPUTime()
        for index in 0..<events {
            bytes += try EventLine(workload.events[index]).bytes.count
        }
        let nanoseconds = time.nanoseconds
        let expected = try workload.events.reduce(0) { try $0 + EventLine($1).bytes.count }
        try Failure.unless(bytes, is: expected, "bytes")
        return nanoseconds
    }
}
