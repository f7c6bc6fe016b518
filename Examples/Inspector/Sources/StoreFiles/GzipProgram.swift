import Foundation

/// The program `gzip` of the system.
package final class GzipProgram {
    private let process = Process()

    init(_ arguments: [String], input: Any, output: Any) throws(LakeProblem) {
        guard let program = ProcessInfo.processInfo.program("gzip") else {
            throw LakeProblem("the program gzip is not installed")
        }
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        (process.standardInput, process.standardOutput) = (input, output)
        process.standardError = FileHandle.nullDevice
        do {
            try process.run()
        } catch {
            throw LakeProblem("the program gzip can't be started: \(error)")
        }
    }

    /// Waits for its end.
    func isSuccessful() -> Bool {
        process.waitUntilExit()
        return process.terminationStatus == 0
    }

    /// Decompresses a file.
    ///
    /// - Throws: A ``LakeProblem`` if it isn't one, or if its contents have more than `limit` bytes.
    package static func contents(of bytes: [UInt8], limit: Int) throws -> [UInt8] {
        // In a file: with two pipes, the program and this one could wait for each other.
        let path = NSTemporaryDirectory() + "sluice-\(UUID().uuidString).gz"
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw FileProblem(path) }
        unlink(path)
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try file.write(contentsOf: bytes)
        try file.seek(toOffset: 0)
        let pipe = Pipe()
        let program = try GzipProgram(["-dc"], input: file, output: pipe)
        var contents: [UInt8] = []
        while let data = try pipe.fileHandleForReading.read(upToCount: 262_144), !data.isEmpty {
            contents += data
            guard contents.count <= limit else {
                program.process.terminate()
                throw LakeProblem("it has more than \(limit) bytes")
            }
        }
        guard program.isSuccessful() else { throw LakeProblem("it is no gzip file") }
        return contents
    }
}

extension ProcessInfo {
    /// The path of a program that is installed.
    package func program(_ name: String) -> String? {
        environment["PATH", default: ""].split(separator: ":").map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
    }
}
