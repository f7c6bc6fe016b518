import Foundation

/// The curl command with the same requests as ``HTTPDelivery``, each body in a file. Its rows are missing without curl.
struct CurlCommand: Candidate {
    let rows: [Row]
    private let sink: String
    private let bodies: [[UInt8]]
    /// Ten times those of the other candidates, because its start is subtracted.
    private var requests: [Int] { Array(repeatElement(bodies.indices, count: 10).joined()) }

    init(batch: Int, sink: String, workload: Workload) throws {
        self.sink = sink
        bodies = Array(repeatElement(try workload.bodies(of: batch), count: HTTPDelivery.repetitions).joined())
        rows = [
            Row(
                name: "command-\(batch)", description: "the curl command, each body in a file", unit: .throughput,
                baseline: "curl-\(batch)", isDifference: true)
        ]
    }

    func measure(_ events: Int, in folder: String) throws -> [Double] {
        for (number, body) in bodies.enumerated() { try Data(body).write(to: URL(filePath: "\(folder)/\(number)")) }
        // The rounds would take a gigabyte. The others in this phase remove their files too.
        defer { bodies.indices.forEach { unlink("\(folder)/\($0)") } }
        // The start of the process and the connection is subtracted.
        guard let start = try seconds(Array(requests[..<1]), in: folder), let all = try seconds(requests, in: folder),
            all > start
        else { return [] }
        let lines = requests.dropFirst().reduce(0) { $0 + bodies[$1].count { $0 == UInt8(ascii: "\n") } }
        return [Double(lines) / (all - start)]
    }

    /// The wall time of one call of the command, or nil if it isn't installed.
    private func seconds(_ requests: [Int], in folder: String) throws -> Double? {
        let sections = requests.map { number in
            """
            url = "\(sink)"
            data-binary = "@\(folder)/\(number)"
            header = "Content-Type: application/x-ndjson"
            header = "Expect:"
            write-out = "%{http_code}\\n"
            """
        }
        let config = folder + "/config"
        try sections.joined(separator: "\nnext\n").write(toFile: config, atomically: false, encoding: .utf8)
        let (command, output) = (Process(), Pipe())
        command.executableURL = URL(filePath: "/usr/bin/env")
        command.arguments = ["curl", "-q", "--silent", "--config", config]
        command.standardOutput = output
        command.standardError = FileHandle.nullDevice
        let wall = WallTime()
        try command.run()
        let statuses = try output.fileHandleForReading.readToEnd() ?? Data()
        command.waitUntilExit()
        let seconds = wall.seconds
        // The status of env if it doesn't find a command.
        if command.terminationStatus == 127 { return nil }
        let accepted = statuses.split(separator: UInt8(ascii: "\n")).count { $0.elementsEqual("204".utf8) }
        try Failure.unless(accepted, is: requests.count, "accepted requests")
        return seconds
    }
}
