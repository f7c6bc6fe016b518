package import Foundation

/// A program, run as a process of its own.
package struct Program {
    package struct Missing: Error, CustomStringConvertible {
        package let description: String
    }

    package struct Result {
        package let status: Int32
        package let output: Data
        package let errors: String

        /// The output's lines, without the empty text after the last newline.
        package var lines: [Data] { output.split(separator: UInt8(ascii: "\n")).map { Data($0) } }
        package var text: String { String(decoding: output, as: UTF8.self) }
    }

    /// Returns a file that was built with the tests. Built programs and modules lie beside the tests' bundle.
    package static func built(_ name: String) throws -> URL {
        var folder = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        while folder.path != "/" {
            folder = folder.deletingLastPathComponent()
            let candidate = folder.appending(path: name)
            var isFolder: ObjCBool = false
            if FileManager.default.fileExists(atPath: candidate.path, isDirectory: &isFolder), !isFolder.boolValue {
                return candidate
            }
        }
        throw Missing(description: "no file \(name) beside the tests")
    }

    /// Runs an example or another program of this package to its end, without blocking other tests.
    package static func run(_ name: String, _ arguments: [String], input: Data = Data()) async throws -> Result {
        try await run(built(name), arguments, input: input)
    }

    /// Runs a program of the system, which is found by `PATH`, without blocking other tests.
    package static func run(tool name: String, _ arguments: [String], input: Data = Data()) async throws -> Result {
        try await run(URL(filePath: "/usr/bin/env"), [name] + arguments, input: input)
    }

    private static func run(_ executable: URL, _ arguments: [String], input: Data) async throws -> Result {
        let directory = TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let files = ["input", "output", "errors"].map { directory.url.appending(path: $0) }
        try input.write(to: files[0])
        for file in files[1...] { try Data().write(to: file) }
        // Files, not pipes: no program can wait for this one to read.
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        process.standardInput = try FileHandle(forReadingFrom: files[0])
        process.standardOutput = try FileHandle(forWritingTo: files[1])
        process.standardError = try FileHandle(forWritingTo: files[2])
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in continuation.resume() }
            do {
                try process.run()
            } catch {
                process.terminationHandler = nil
                continuation.resume(throwing: error)
            }
        }
        return Result(
            status: process.terminationStatus, output: try Data(contentsOf: files[1]),
            errors: String(decoding: try Data(contentsOf: files[2]), as: UTF8.self))
    }
}
