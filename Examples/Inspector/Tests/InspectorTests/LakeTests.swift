import ArgumentParser
import Foundation
import Sluice
import Testing

@testable import Inspector
@testable import StoreFiles

@Suite("A lake of files")
struct LakeTests {
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
    }

    private func event(_ number: Int, user: String) -> Event {
        var event = Event.sample(number)
        event.distinctID = user
        return event
    }

    /// Writes a file of lines, compressed if its name says so.
    private func write(_ name: String, _ lines: [String]) throws {
        let path = "\(folder.path)/\(name)"
        let directory = (path as NSString).deletingLastPathComponent
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let bytes = Array((lines.joined(separator: "\n") + "\n").utf8)
        try Data(path.hasSuffix(".gz") ? TestFolder.gzip(bytes) : bytes).write(to: URL(fileURLWithPath: path))
    }

    private func lines(_ users: String...) throws -> [String] {
        try users.enumerated().map { number, user in
            String(decoding: try EventLine(event(number, user: user)).bytes, as: UTF8.self)
        }
    }

    private func lake() throws -> LakeFolder { try #require(try LakeFolder(folder.path)) }

    /// The lines of all files, by the end of their paths.
    private func contents() throws -> [String: [String]] {
        var contents: [String: [String]] = [:]
        for file in try lake().files().files {
            var lines: [String] = []
            try file.readLines { lines.append(String(decoding: $0, as: UTF8.self)) }
            contents[String(file.path.dropFirst(folder.path.count + 1))] = lines
        }
        return contents
    }

    private func erase(_ user: String) throws -> LakeEraser {
        var eraser = LakeEraser(try lake()) { $0.belongs(to: user) }
        try eraser.run()
        return eraser
    }

    @Test("a person is erased from plain and compressed files of dates and hours, and every other line stays as it is")
    func erasesPerson() throws {
        let day = try lines("ada", "bob", "ada") + ["no event", ""]
        try write("date=2026-01-01/a-5.ndjson.gz", day)
        try write("date=2026-01-01/hour=05/b-2.ndjson", try lines("bob", "ada"))
        try write("date=2026-01-02/c-1.ndjson.gz", try lines("bob"))
        try write("date=2026-01-02/hour=23/d-2.ndjson.gz", try lines("ada", "bob"))
        try write("date=2026-01-02/notes.txt", ["ada"])
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o640], ofItemAtPath: "\(folder.path)/date=2026-01-01/a-5.ndjson.gz")
        let untouched = try folder.snapshot()["date=2026-01-02/c-1.ndjson.gz"]
        let eraser = try erase("ada")
        #expect((eraser.events, eraser.files) == (4, 3))
        #expect(eraser.left.isEmpty)
        #expect(
            try contents() == [
                "date=2026-01-01/a-5.ndjson.gz": [day[1], "no event", ""],
                "date=2026-01-01/hour=05/b-2.ndjson": try lines("bob"),
                "date=2026-01-02/c-1.ndjson.gz": try lines("bob"),
                "date=2026-01-02/hour=23/d-2.ndjson.gz": [try lines("ada", "bob")[1]],
            ])
        #expect(try folder.snapshot()["date=2026-01-02/c-1.ndjson.gz"] == untouched)
        #expect(try folder.snapshot()["date=2026-01-01/a-5.ndjson.gz"]?.last == "\(0o640)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/.writing").isEmpty)
    }

    @Test("erase takes a lake, and fails if something is left")
    func commandErases() async throws {
        try write("date=2026-01-01/a-2.ndjson.gz", try lines("ada", "bob"))
        func erase() async throws {
            let arguments = ["erase", folder.path, "--user", "ada"]
            var command = try #require(try SluiceCommand.parseAsRoot(arguments) as? any AsyncParsableCommand)
            try await command.run()
        }
        try await erase()
        #expect(try contents().values.map(\.count) == [1])
        try "".write(toFile: "\(folder.path)/date=2026-01-01/b-1.ndjson.gz", atomically: true, encoding: .utf8)
        await #expect(throws: ExitCode.failure) { try await erase() }
    }

    @Test("a file with nothing but a person's events is removed, because some readers fail at one without lines")
    func removesEmptyFile() throws {
        try write("date=2026-01-01/a-2.ndjson.gz", try lines("ada", "ada"))
        #expect(try erase("ada").events == 2)
        #expect(try contents().isEmpty)
    }

    @Test("a file that can't be decompressed, and one that is being written, are named, and others are erased")
    func namesWhatIsLeft() throws {
        try write("date=2026-01-01/a-1.ndjson", ["torn"])
        try FileManager.default.moveItem(
            atPath: "\(folder.path)/date=2026-01-01/a-1.ndjson", toPath: "\(folder.path)/date=2026-01-01/a-1.ndjson.gz")
        try write("date=2026-01-01/b-2.ndjson.gz", try lines("ada", "bob"))
        for name in ["living.tmp", "dead.tmp"] { try write(".writing/\(name)", ["ada"]) }
        let living = open("\(folder.path)/.writing/living.tmp", O_RDONLY | O_CLOEXEC)
        defer { close(living) }
        #expect(flock(living, LOCK_EX) == 0)
        let eraser = try erase("ada")
        #expect(eraser.events == 1)
        #expect(eraser.left.count == 2)
        #expect(eraser.left.first?.hasSuffix("a-1.ndjson.gz is damaged: gzip can't decompress it") == true)
        #expect(eraser.left.last?.hasSuffix("living.tmp is being written: repeat the command") == true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/.writing") == ["living.tmp"])
    }

    @Test(
        "a file whose copy can't be made is named, also if it is the folder for copies that is missing",
        arguments: [("unmounted", "hour=00/a-2.ndjson"), (".writing", "b-2.ndjson"), ("un/mounted", "c-2.ndjson.gz")])
    func namesFileWithoutCopy(target: String, name: String) throws {
        let file = "date=2026-01-01/\(name)"
        try write(file, try lines("ada", "bob"))
        try FileManager.default.createSymbolicLink(
            atPath: "\(folder.path)/.writing", withDestinationPath: target)
        let eraser = try erase("ada")
        #expect((eraser.events, eraser.left.count) == (0, 1))
        #expect(eraser.left.first?.hasPrefix("\(folder.path)/\(file) is left as it is: ") == true)
        #expect(try contents().values.map(\.count) == [2])
    }

    @Test(
        "a date that can't be listed is named, and costs no other one", arguments: ["", "/hour=05"],
        [true, false])
    func namesFolder(hour: String, isLoop: Bool) throws {
        for date in ["2026-01-01", "2026-01-03"] {
            try write("date=\(date)\(hour)/a-2.ndjson", try lines("ada", "bob"))
        }
        let path = "\(folder.path)/date=2026-01-02\(hour)"
        try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        // Root can't list it either.
        let target = isLoop ? path : "\(folder.path)/unmounted"
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        let eraser = try erase("ada")
        #expect((eraser.events, eraser.left.count) == (2, 1))
        #expect(eraser.left.first?.hasPrefix(path) == true)
    }

    @Test(
        "a folder of a store is no lake, and the commands for stores name those for compressed and hourly files",
        arguments: ["date=2026-01-01/a-1.ndjson.gz", "date=2026-01-01/hour=05/a-1.ndjson"])
    func tellsStoresFromLakes(file: String) throws {
        try folder.write([.sample(1)])
        #expect(try LakeFolder(folder.path) == nil)
        let other = try TestFolder()
        let path = URL(fileURLWithPath: "\(other.path)/\(file)")
        try FileManager.default.createDirectory(
            at: path.deletingLastPathComponent(), withIntermediateDirectories: true)
        _ = try StoreFolder(other.path)
        try Data().write(to: path)
        let problem = #expect(throws: NotAStore.self) { try StoreFolder(other.path) }
        #expect(problem?.description.hasSuffix("use sluice query or sluice erase") == true)
    }

    @Test(
        "the view of a lake reads the kinds of files that it has, by dates and by hours, and no pattern is without a file",
        arguments: 0..<16)
    func makesView(kinds: Int) throws {
        try write("date=2026-01-01/hour=05/notes.txt", ["ada"])
        let names = ["*.ndjson.gz", "*.ndjson", "hour=*/*.ndjson.gz", "hour=*/*.ndjson"]
        let present = names.indices.filter { kinds & 1 << $0 != 0 }.map { names[$0] }
        for name in present {
            try write(
                "date=2026-01-01/" + name.replacing("*.", with: "a-1.").replacing("*", with: "05"), try lines("ada"))
        }
        let view = try DuckDB.view(of: lake(), at: folder.path) ?? ""
        let patterns = view.matches(of: /'(\/[^']+)'/).map { String($0.1) }
        #expect(patterns == present.map { "\(folder.path)/date=*/\($0)" })
        // Folders of dates and of hours have different columns, which one call of DuckDB can't read.
        let (days, hours) = (kinds & 0b11 != 0, kinds & 0b1100 != 0)
        #expect(view.contains("hive_types = {date: VARCHAR}, columns = {id: 'VARCHAR', event: 'VARCHAR'") == days)
        #expect(view.contains("hive_types = {date: VARCHAR, hour: VARCHAR}, columns = {id: 'VARCHAR'") == hours)
        #expect(view.components(separatedBy: " UNION ALL BY NAME ").count == (days && hours ? 2 : 1))
    }
}
