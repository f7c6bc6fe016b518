import Foundation
import Sluice
import StoreFiles
import Testing

@testable import Inspector

/// Runs the built command, and returns its exit status.
private func sluice(
    _ arguments: [String], output: FileHandle = .nullDevice, error: FileHandle = .nullDevice,
    environment: [String: String] = ProcessInfo.processInfo.environment, directory: String? = nil
) async throws -> Int32 {
    let tests = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
    let folder = tests?.bundleURL.deletingLastPathComponent() ?? Bundle.main.bundleURL
    let process = Process()
    process.executableURL = folder.appendingPathComponent("sluice")
    process.arguments = arguments
    process.environment = environment
    process.currentDirectoryURL = directory.map { URL(fileURLWithPath: $0) }
    process.standardOutput = output
    process.standardError = error
    let (ends, continuation) = AsyncStream.makeStream(of: Int32.self)
    process.terminationHandler = { ended in
        // A crash must not look like an exit with the same number.
        continuation.yield(ended.terminationReason == .exit ? ended.terminationStatus : -ended.terminationStatus)
    }
    try process.run()
    return await ends.first { _ in true } ?? -1
}

/// The writing end of a pipe that nobody reads.
private func brokenPipe() throws -> FileHandle {
    let pipe = Pipe()
    try pipe.fileHandleForReading.close()
    return pipe.fileHandleForWriting
}

@Suite("The command's output", .serialized)
struct CommandTests {
    private static let hasFullDevice = FileManager.default.fileExists(atPath: "/dev/full")

    @Test("A write waits while a pipe is full")
    func waitsForReader() async throws {
        let pipe = Pipe()
        let writer = pipe.fileHandleForWriting
        let descriptor = writer.fileDescriptor
        #expect(fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) == 0)
        let text = String(repeating: "0123456789abcdef", count: 100_000)
        // Blocking calls must not take a thread of the tasks.
        async let written: Result<Void, any Error> = withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                let result = Result { try Terminal.write(text, to: descriptor) }
                continuation.resume(
                    returning: Result {
                        try writer.close()
                        try result.get()
                    })
            }
        }
        let read: Data = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(returning: pipe.fileHandleForReading.readDataToEndOfFile())
            }
        }
        try await written.get()
        #expect(read == Data(text.utf8))
    }

    @Test("A failed write is an error")
    func failsToWrite() throws {
        let pipe = try brokenPipe()
        let broken = #expect(throws: WriteFailure.self) { try Terminal.write("text", to: pipe.fileDescriptor) }
        #expect(broken?.isBrokenPipe == true)
        let closed = #expect(throws: WriteFailure.self) { try Terminal.write("text", to: -1) }
        #expect(closed?.isBrokenPipe == false)
    }

    @Test("A command ends quietly if nobody reads its output")
    func endsWithReader() async throws {
        let folder = try TestFolder()
        let pipe = try brokenPipe()
        let notes = Pipe()
        #expect(
            try await sluice(["stats", folder.path], output: pipe, error: notes.fileHandleForWriting) == 141)
        try notes.fileHandleForWriting.close()
        #expect(notes.fileHandleForReading.readDataToEndOfFile().isEmpty)
    }

    @Test("A command whose output can't be written fails with a message", .enabled(if: hasFullDevice))
    func failsOnFullDevice() async throws {
        let folder = try TestFolder()
        let notes = Pipe()
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        #expect(try await sluice(["stats", folder.path], output: full, error: notes.fileHandleForWriting) == 1)
        try notes.fileHandleForWriting.close()
        let text = String(decoding: notes.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        #expect(text.hasPrefix("the output can't be written: "))
    }

    @Test("A replay continues if its messages can't be written")
    func replaysWithoutMessages() async throws {
        let folder = try TestFolder()
        try folder.write((0..<600).map { .sample($0) })
        try folder.writeDeadLetters([.sample(1_000)])
        try await withCollector(status: { _ in 200 }) { url, collector in
            let arguments = ["replay", folder.path, "--to", url, "--format", "ndjson"]
            let pipe = try brokenPipe()
            #expect(try await sluice(arguments, error: pipe) == 0)
            #expect(await collector.lines.count == 601)
        }
        #expect(try folder.counts() == [0, 0])
    }

    @Test("A replay that loses damaged lines fails")
    func failsWithDamage() async throws {
        let folder = try TestFolder()
        try folder.write([.sample(1), .sample(2)])
        try edit(try #require(try folder.process().segments.first).path) { $0[20] ^= 1 }
        try await withCollector(status: { _ in 200 }) { url, _ in
            let status = try await sluice(["replay", folder.path, "--to", url, "--format", "ndjson"])
            #expect(status == 1)
        }
    }

    @Test("verify prints no control characters of a file's name")
    func verifiesHostileNames() async throws {
        let folder = try TestFolder()
        try folder.writeDeadLetters([.sample(1)])
        let path = try #require(try folder.process().deadLetterFiles.first)
        try Data("junk\n".utf8).write(to: URL(fileURLWithPath: "\(path)\u{1B}[31m.jsonl"))
        let output = Pipe()
        #expect(try await sluice(["verify", folder.path], output: output.fileHandleForWriting) == 1)
        try output.fileHandleForWriting.close()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        #expect(text.contains(#"\u{1b}[31m.jsonl: line 1"#))
        #expect(!text.contains("\u{1B}"))
    }

    /// The status and the messages of a command that finds no other program.
    private func messages(_ arguments: [String]) async throws -> (status: Int32, text: String) {
        let notes = Pipe()
        let status = try await sluice(arguments, error: notes.fileHandleForWriting, environment: ["PATH": "/nowhere"])
        try notes.fileHandleForWriting.close()
        return (status, String(decoding: notes.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self))
    }

    @Test(
        "An argument that is empty or given twice is refused, because it would select all, or hide another",
        arguments: [
            (["erase", "x", "--user", "ada", "--user", "bob"], "--user is given twice"),
            (["stats", "x", "--route=a", "--json", "--route", "b"], "--route is given twice"),
            (["tail", "x", "--filter", "A", "--filter=A"], "--filter is given twice"),
            (["replay", "x", "--to", "http://a/", "--format", "json", "--to", "http://b/"], "--to is given twice"),
            (["replay", "x", "--to", "http://a/", "--format", "json", "--reason", ""], "an argument is empty"),
            (["dead", "x", "--reason="], "an argument is empty"), (["collect", ""], "an argument is empty"),
            (["erase", "x", "--user="], "an argument is empty"), (["collect", "--refuse", ""], "an argument is empty"),
            (["export", "x", "--user", ""], "an argument is empty"),
        ])
    func refusesAmbiguousArguments(arguments: [String], expected: String) async throws {
        let (status, text) = try await messages(arguments)
        #expect(status == 64)
        #expect(text.hasPrefix("Error: \(expected)"), "\(text)")
    }

    @Test("Headers can be repeated, and no argument behind -- is an option")
    func takesRepeatedHeaders() async throws {
        let arguments = ["--to", "http://a/", "--format", "json", "--header", "A: 1", "--header", "B: 1", "--", "--to"]
        let (status, text) = try await messages(["replay"] + arguments)
        #expect(status == 1)
        #expect(text.hasPrefix("Error: there is no folder --to"), "\(text)")
    }

    @Test("Without duckdb, the commands to type have the same selection, quoted for a shell")
    func advisesCommand() async throws {
        let folder = try TestFolder()
        try folder.write([.sample(1)])
        let link = folder.path + " it's $x"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.path)
        defer { unlink(link) }
        let options = ["--user", "a \"b\"", "--route", "main", "--format", "csv", "--output", "o'`x`.csv"]
        let (status, text) = try await messages(["export", link] + options)
        #expect(status == 1)
        let path = "'" + link.replacing("'", with: #"'\''"#) + "'"
        #expect(text.contains("\n  sluice export \(path) --route main --user 'a \"b\"' --output events.ndjson\n"))
        let copy = "COPY (SELECT * REPLACE (epoch_ms(time) AS time) FROM read_json("
        #expect(text.contains("\n  duckdb -c '\(copy)" + #"'\''events.ndjson"#))
        #expect(text.contains(#"TO '\''o'\'''\''`x`.csv'\'' (FORMAT csv)'"#))
    }

    @Test(
        "A query reads a lake below any names: no name on the way is a pattern, a part of one, or a column",
        arguments: ["what?/l[1]*", #"back\slash/it's"#, "id=5/date=2020-01-01", "{a,b}/-dash "], [false, true])
    func queriesAnyFolder(name: String, isRelative: Bool) async throws {
        let folder = try TestFolder()
        let day = "\(folder.path)/\(name)/date=2026-01-01"
        try FileManager.default.createDirectory(atPath: day, withIntermediateDirectories: true)
        try Data().write(to: URL(fileURLWithPath: "\(day)/a-1.ndjson.gz"))
        // Prints the folder of the pattern, as it is and as the system finds it.
        let script = #"""
            #!/bin/sh
            lake=$(printf '%s' "$2" | sed "s/.*read_json('//; s/.date=.*//")
            echo "$lake"
            cd "$lake" && pwd -P
            """#
        try Data(script.utf8).write(to: URL(fileURLWithPath: "\(folder.path)/duckdb"))
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: "\(folder.path)/duckdb")
        let output = Pipe()
        let status = try await sluice(
            ["query", "SELECT 1", isRelative ? "./\(name)" : "\(folder.path)/\(name)/"],
            output: output.fileHandleForWriting, environment: ["PATH": "\(folder.path):/usr/bin:/bin"],
            directory: folder.path)
        try output.fileHandleForWriting.close()
        let lines = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            .split(separator: "\n")
        #expect(status == 0 && lines.count == 2)
        #expect(lines.first?.contains(/[?*\[\]{}'=\\]/) == false)
        #expect(lines.last.map { $0.hasSuffix("\(folder.path)/\(name)") } == true)
        #expect(lines.first.map { FileManager.default.fileExists(atPath: String($0)) } == false)
    }
}
