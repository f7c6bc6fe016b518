import Foundation
import Synchronization

/// A program of this package, run as a process of its own.
final class Program: Sendable {
    struct Missing: Error {}

    private let process = Process()
    private let errors: AsyncStream<String>
    private let exit: AsyncStream<Int32>

    /// Starts a program, which lies beside the bundle of the tests.
    init(_ name: String, _ arguments: [String]) throws {
        var folder = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        repeat {
            guard folder.path != "/" else { throw Missing() }
            folder = folder.deletingLastPathComponent()
        } while !FileManager.default.isExecutableFile(atPath: folder.appending(path: name).path)
        let pipe = Pipe()
        let (errors, lines) = AsyncStream<String>.makeStream()
        let (exit, ended) = AsyncStream<Int32>.makeStream()
        (self.errors, self.exit) = (errors, exit)
        process.executableURL = folder.appending(path: name)
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = pipe
        process.terminationHandler = { process in
            ended.yield(process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus)
            ended.finish()
        }
        try process.run()
        Thread.detachNewThread {
            var rest = Data()
            while case let data = pipe.fileHandleForReading.availableData, !data.isEmpty {
                rest += data
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    lines.yield(String(decoding: rest[..<end], as: UTF8.self))
                    rest = Data(rest[rest.index(after: end)...])
                }
            }
            lines.finish()
        }
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// Waits for a line on standard error that contains a text. Returns nil if the program ends before.
    func line(containing text: String) async -> String? {
        await errors.first { $0.contains(text) }
    }

    func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// Waits for the end. Returns the exit status, or the negative number of the signal that ended the program.
    func status() async -> Int32? { await exit.first { _ in true } }
}
