import Foundation
import TestSupport

/// One mistake in a host's code, and a part of the compiler's message.
struct Mistake: Sendable {
    let code: String
    let message: String
    let container: String

    init(_ code: String, _ message: String, container: String = "Pipeline") {
        (self.code, self.message, self.container) = (code, message, container)
    }
}

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
        let directory = TemporaryDirectory()
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
        let result = try await Program.run(tool: "swiftc", arguments)
        return (result.status, result.text + result.errors)
    }

    /// The folder with the built modules.
    static func modules() throws -> URL {
        try Program.built("Modules/Sluice.swiftmodule").deletingLastPathComponent()
    }
}
