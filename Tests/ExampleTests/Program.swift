import Foundation
import SluiceTesting

/// An example, run as a process of its own.
struct Program {
    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    struct Result {
        let status: Int32
        let output: Data
        let errors: String

        /// The output's lines, without the empty text after the last newline.
        var lines: [Data] { output.split(separator: UInt8(ascii: "\n")).map { Data($0) } }
    }

    /// Built programs lie beside the bundle of the tests.
    static func url(_ name: String) throws -> URL {
        var folder = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        while folder.path != "/" {
            folder = folder.deletingLastPathComponent()
            let candidate = folder.appending(path: name)
            var isFolder: ObjCBool = false
            if FileManager.default.fileExists(atPath: candidate.path, isDirectory: &isFolder), !isFolder.boolValue {
                return candidate
            }
        }
        throw Missing(description: "no program \(name) beside the tests")
    }

    /// Runs it to its end without blocking other tests.
    static func run(_ name: String, _ arguments: [String], input: Data? = nil) async throws -> Result {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let files = ["input", "output", "errors"].map { directory.url.appending(path: $0) }
        try (input ?? Data()).write(to: files[0])
        for file in files[1...] { try Data().write(to: file) }
        // Files, not pipes: no program can wait for this one to read.
        let process = Process()
        process.executableURL = try url(name)
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

extension TemporaryDirectory {
    var url: URL { URL(filePath: path) }
}
