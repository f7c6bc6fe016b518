import Foundation

/// The curl command with the same requests as ``HTTPDelivery``, each body in a file. Its rows are missing without curl.
struct CurlCommand: Candidate {
    let rows: [Row]
    private let sink: String
    private let bodies: [[UInt8]]

    init(batch: Int, sink: String, workload: Workload) throws {
        self.sink = sink
        // Enough requests for the connection not to matter.
        bodies = Array(repeatElement(try workload.bodies(of: batch), count: 5).joined())
        rows = [
            Row(
                name: "command-\(batch)", description: "the curl command, each body in a file", unit: .throughput,
                baseline: "curl-\(batch)")
        ]
    }

    func measure(_ events: Int, in folder: String) throws -> [Double] {
        let paths = try bodies.enumerated().map { number, body in
            try Data(body).write(to: URL(filePath: "\(folder)/\(number)"))
            return "\(folder)/\(number)"
        }
        // What the command does once is left out.
        guard let once = try seconds(Array(paths[..<1]), in: folder), let all = try seconds(paths, in: folder) else {
            return []
        }
        let lines = bodies.dropFirst().reduce(0) { count, body in count + body.count { $0 == UInt8(ascii: "\n") } }
        return [Double(lines) / (all - once)]
    }

    /// The wall time of one call of the command, or nil if it isn't installed.
    private func seconds(_ paths: [String], in folder: String) throws -> Double? {
        let requests = paths.map { path in
            """
            url = "\(sink)"
            data-binary = "@\(path)"
            header = "Content-Type: application/x-ndjson"
            header = "Expect:"
            write-out = "%{http_code}\\n"
            """
        }
        let config = folder + "/config"
        try requests.joined(separator: "\nnext\n").write(toFile: config, atomically: false, encoding: .utf8)
        let (command, output) = (Process(), Pipe())
        command.executableURL = URL(filePath: "/usr/bin/env")
        command.arguments = ["curl", "--silent", "--config", config]
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
        try Failure.unless(accepted, is: paths.count, "accepted requests")
        return seconds
    }
}
