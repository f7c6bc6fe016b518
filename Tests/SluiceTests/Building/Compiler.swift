import Foundation
import SluiceTesting

/// Runs the Swift compiler on a source text, with the modules that this test was built with.
enum Compiler {
    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    struct Diagnostic: Sendable {
        let line: Int
        let message: String
    }

    /// Type-checks `source` and returns the compiler's errors.
    static func errors(in source: String) async throws -> [Diagnostic] {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let file = URL(filePath: directory.path).appending(path: "Host.swift")
        try Data(source.utf8).write(to: file)

        let (status, output) = try await run(["-typecheck", "-swift-version", "6", "-I", try modules().path, file.path])
        let errors = output.split(separator: "\n").compactMap { line -> Diagnostic? in
            guard line.hasPrefix(file.path), let range = line.range(of: ": error: ") else { return nil }
            let place = line[..<range.lowerBound].dropFirst(file.path.count).split(separator: ":")
            return place.first.flatMap { Int($0) }.map {
                Diagnostic(line: $0, message: String(line[range.upperBound...]))
            }
        }
        if status != 0, errors.isEmpty { throw Problem(description: "the compiler failed: \(output)") }
        return errors
    }

    /// Runs `swiftc` without blocking other tests. Returns its exit status and output.
    static func run(_ arguments: [String]) async throws -> (status: Int32, output: String) {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let log = URL(filePath: directory.path).appending(path: "log")
        try Data().write(to: log)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["swiftc"] + arguments
        // A file, not a pipe: the compiler never waits for this process to read.
        let output = try FileHandle(forWritingTo: log)
        process.standardOutput = output
        process.standardError = output
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in continuation.resume() }
            do {
                try process.run()
            } catch {
                process.terminationHandler = nil
                continuation.resume(throwing: error)
            }
        }
        return (process.terminationStatus, String(decoding: try Data(contentsOf: log), as: UTF8.self))
    }

    /// The folder with the built modules: beside the test bundle.
    static func modules() throws -> URL {
        let executable = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        var folder = executable
        while folder.path != "/" {
            folder = folder.deletingLastPathComponent()
            let candidate = folder.appending(path: "Modules")
            if FileManager.default.fileExists(atPath: candidate.appending(path: "Sluice.swiftmodule").path) {
                return candidate
            }
        }
        throw Problem(description: "no built modules beside \(executable.path)")
    }
}
