import Sluice
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceJSONL

/// Changes to a segment by other programs while the store writes to it: an editor, `logrotate`, a shell.
struct ForeignChangeTests {
    private let directory: TemporaryDirectory
    private let time = VirtualTime()

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func opened(_ durability: JSONLStore.Durability = .process) throws -> TestedStore {
        try .opened(JSONLStore(at: directory.path, durability: durability), in: time.environment)
    }

    // MARK: Appended bytes

    private static let foreignTexts: [String] = [
        "\n", "x\n", "{}\n", "{\"a\":1}\n", "two\nlines\n", "\n\n\n", "{\"event\":\"E\",\"crc\":\"00000000\"}\n",
        String(repeating: "long ", count: 20_000) + "\n", "\u{E9}\u{1F600}\r\n", "\u{0}\u{0}\n",
        // Without a newline, the text and the next event become one line.
        "x", "{\"a\":{\"b\":[{}]", "# a comment", "{\"id\":\"1\",\"event\":\"Half of", "\u{0}", "}",
    ]

    @Test("bytes that others append to an open segment cost no event", arguments: foreignTexts)
    func foreignBytesCostNothing(text: String) throws {
        for isClosed in [false, true] {
            let store = try opened()
            try store.append(EventLine(0))
            let segment = try directory.segments()[0]
            try append(text, to: segment)
            for number in 1..<10 { try store.append(EventLine(number)) }
            try append(text + "\n", to: segment)
            if isClosed {
                store.store.close()
                let next = try opened()
                #expect(try next.drain() == texts(0..<10))
                next.store.close()
            } else {
                #expect(try store.drain() == texts(0..<10))
                #expect(store.dropped.isEmpty)
                store.expectConservation()
                store.store.close()
            }
        }
    }

    @Test("bytes that others append to an open segment of dead letters cost no dead letter", arguments: foreignTexts)
    func foreignBytesCostNoLetter(text: String) throws {
        let store = try opened()
        for number in 0..<3 {
            try store.append(EventLine(number))
            let batch = try #require(try store.nextBatch())
            try store.settle(batch, rejected: [DeadLetter(line: batch.events[0], reason: "no", date: .sample)])
            try append(text, to: try #require(try directory.letterFiles().first))
        }
        #expect(try store.store.deadLetters().map(\.line.text) == texts(0..<3))
        #expect(store.deadLettersDropped.isEmpty)
    }

    @Test("copies that others append are delivered, and counted as found")
    func copiesAreCounted() throws {
        let store = try opened()
        for number in 0..<3 { try store.append(EventLine(number)) }
        let segment = try directory.segments()[0]
        try append(String(decoding: try directory.read(segment), as: UTF8.self), to: segment)
        try store.append(EventLine(3))
        #expect(try store.drain() == texts(0..<3) + texts(0..<4))
        #expect(store.recovered == 3 && store.dropped.isEmpty)
        store.expectConservation()
    }

    @Test("a refused line is removed from a file to which others have appended, and no other line is")
    func refusedLineIsRemoved() throws {
        let files = FaultyFileSystem()
        let store = try TestedStore.opened(
            JSONLStore(at: directory.path, files: files), in: time.environment)
        for number in 0..<3 { try store.append(EventLine(number)) }
        let segment = try directory.segments()[0]
        try append("a foreign line\n", to: segment)
        try store.append(EventLine(3))
        let bytes = try directory.read(segment)
        files.limitSpace(to: 10)
        #expect(throws: SluiceError.self) { try store.append(EventLine(4)) }
        #expect(try directory.read(segment) == bytes)
        files.heal()
        #expect(try store.drain() == texts(0..<4))
        #expect(store.dropped.isEmpty)
    }

    // MARK: Renamed and replaced files

    /// Something that another program does to an open segment, and which of the events before it are still delivered.
    struct Change: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let keepsEvents: Bool
        let make: @Sendable (TemporaryDirectory, String) throws -> Void

        init(
            _ description: String, keepsEvents: Bool = false,
            _ make: @escaping @Sendable (TemporaryDirectory, String) throws -> Void
        ) {
            (testDescription, self.keepsEvents, self.make) = (description, keepsEvents, make)
        }
    }

    private static func folder(of segment: String) -> String {
        String(segment[..<(segment.lastIndex(of: "/") ?? segment.startIndex)])
    }

    private static func rename(_ directory: TemporaryDirectory, _ name: String, _ newName: String) throws {
        try SystemFileSystem().rename("\(directory.path)/\(name)", to: "\(directory.path)/\(newName)")
    }

    static let changes: [Change] = [
        Change("nothing", keepsEvents: true) { _, _ in },
        Change("the file is renamed") { try rename($0, $1, $1 + ".1") },
        Change("the file is renamed to another segment's name") {
            try rename($0, $1, "\(folder(of: $1))/normal-00000000000099-1767225600000.jsonl")
        },
        Change("the file is moved to another directory") { try rename($0, $1, "elsewhere") },
        Change("the file is renamed, and an empty one is created") {
            try rename($0, $1, $1 + ".1")
            try $0.write([], to: $1)
        },
        Change("the file is renamed, and one with another text is created") {
            try rename($0, $1, $1 + ".1")
            try $0.write(Array("new\n".utf8), to: $1)
        },
        Change("the file is copied and truncated") { try $0.write([], to: $1) },
        Change("the file is deleted") { directory, segment in directory.remove(segment) },
        Change("the file is deleted, and an empty one is created") {
            $0.remove($1)
            try $0.write([], to: $1)
        },
        Change("the file is replaced by a copy", keepsEvents: true) {
            try $0.write(try $0.read($1), to: "copy")
            try rename($0, "copy", $1)
        },
        Change("the file is replaced by a directory") {
            $0.remove($1)
            try SystemFileSystem().makeDirectory("\($0.path)/\($1)", mode: 0o700)
        },
        Change("the process's directory is renamed") { try rename($0, folder(of: $1), "elsewhere") },
        Change("the process's directory is deleted") { $0.remove(folder(of: $1)) },
        Change("the lock is deleted", keepsEvents: true) { $0.remove(folder(of: $1) + "/lock") },
    ]

    @Test(
        "after another program has changed a file, the store notices it with the next event and loses no later one",
        arguments: changes, [Event.Priority.normal, .critical])
    func changedFileIsNoticed(change: Change, priority: Event.Priority) throws {
        let store = try opened()
        for number in 0..<5 { try store.append(EventLine(number, priority)) }
        try change.make(directory, try directory.segments()[0])
        time.advance(by: .milliseconds(1))
        for number in 5..<20 { try store.append(EventLine(number, priority)) }
        let delivered = try store.drain()
        #expect(delivered == texts(change.keepsEvents ? 0..<20 : 5..<20, priority))
        #expect(store.dropped.values.reduce(0, +) == (change.keepsEvents ? 0 : 5))
        store.expectConservation()
    }

    private func append(_ text: String, to path: String) throws {
        let file = try OpenFile(
            path.hasPrefix("/") ? path : "\(directory.path)/\(path)", [.write, .append], in: SystemFileSystem())
        try file.write(Array(text.utf8)[...])
    }
}
