import Sluice

/// Encodes events as lines of JSON, without a store.
struct SluiceEncoding: Candidate {
    let rows = [Row(name: "encode", description: "an event to its line, no store")]
    let workload: Workload

    func measure(_ events: Int, in folder: String) throws -> [Double] {
        var bytes = 0
        let time = CPUTime()
        for index in 0..<events {
            bytes += try EventLine(workload.events[index]).bytes.count
        }
        let cost = time.nanoseconds(for: events)
        let expected = try workload.events.reduce(0) { try $0 + EventLine($1).bytes.count }
        try Failure.unless(bytes, is: expected, "bytes")
        return [cost]
    }
}
