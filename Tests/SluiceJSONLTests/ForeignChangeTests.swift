import Sluice
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceJSONL

/// Changes to a segment by other programs while the store writes to it: an editor, `logrotate`, a shell.
struct ForeignChangeTests: TimedStoreSuite {
    let directory = TemporaryDirectory()
    let time = VirtualTime()

    // MARK: Appended bytes

    private static let foreignTexts: [String] = [
        "\n", "x\n", "{}\n", "{\"a\":1}\n", "two\nlines\n", "\n\n\n", "{\"event\":\"E\",\"crc\":\"00000000\"}\n",
        String(repeating: "long ", count: 20_000) + "\n", "\u{E9}\u{1F600}\r\n", "\u{0}\u{0}\n",
        "{\"id\":\"1\",\"event\":\"Half of\n", "# a comment\n", String(repeating: "\n", count: 1_000),
    ]

    /// Texts of which the next process can't know that they were no events: they have a checksum, are half an object, or have
    /// bytes that no text has.
    private static let likeDamage = [foreignTexts[6], foreignTexts[9], foreignTexts[10]]

    @Test("lines that others append to an open segment cost no event, and are not counted", arguments: foreignTexts)
    func foreignLinesCostNothing(text: String) throws {
        for isClosed in [false, true] {
            let store = try opened()
            try store.append(EventLine(0))
            let segment = try directory.segments()[0]
            try directory.append(text, to: segment)
            for number in 1..<10 { try store.append(EventLine(number)) }
            try directory.append(text, to: segment)
            let last = isClosed ? try reopened(store) : store
            #expect(try last.drain() == texts(0..<10))
            #expect(last.dropped == (isClosed && Self.likeDamage.contains(text) ? [.corrupt: 2] : [:]))
            last.store.close()
        }
    }

    @Test("text without a newline costs the event behind it, which is counted", arguments: ["x", "{\"a\":1", "\u{0}"])
    func foreignTextIsCounted(text: String) throws {
        let store = try opened()
        try store.append(EventLine(0))
        try directory.append(text, to: try directory.segments()[0])
        for number in 1..<10 { try store.append(EventLine(number)) }
        #expect(try store.drain() == texts([0] + Array(2..<10)))
        #expect(store.dropped == [.corrupt: 1])
    }

    @Test("lines that others append to an open segment of dead letters cost no dead letter", arguments: foreignTexts)
    func foreignLinesCostNoLetter(text: String) throws {
        let store = try opened()
        for number in 0..<3 {
            try store.append(EventLine(number))
            try store.rejectFirst()
            try directory.append(text, to: try #require(try directory.letterFiles().first))
        }
        #expect(try store.letters().map(\.line.text) == texts(0..<3))
        #expect(store.deadLettersDropped.isEmpty)
    }

    @Test("a file to which others have appended more than a store can write is read as far as that")
    func giantFileIsReadInPart() throws {
        let store = try opened()
        for number in 0..<3 { try store.append(EventLine(number)) }
        let file = try OpenFile("\(directory.path)/\(try directory.segments()[0])", .write, in: SystemFileSystem())
        try file.truncate(to: 1 << 40)
        #expect(try store.drain() == texts(0..<3))
        #expect(store.dropped.isEmpty)
    }

    @Test("copies that others append are delivered, and counted as found")
    func copiesAreCounted() throws {
        let store = try opened()
        for number in 0..<3 { try store.append(EventLine(number)) }
        let segment = try directory.segments()[0]
        try directory.append(String(decoding: try directory.read(segment), as: UTF8.self), to: segment)
        try store.append(EventLine(3))
        #expect(try store.drain() == texts(0..<3) + texts(0..<4))
        #expect(store.recovered == 3 && store.dropped.isEmpty)
    }

    @Test(
        "a file to which others have appended is cut back before a refused line; one that can't be cut loses no event",
        arguments: [0, 10, nil])
    func refusedLineIsRemoved(written: Int?) throws {
        let files = FaultyFileSystem()
        let durability = written == nil ? JSONLStore.Durability.full : .process
        let store = try TestedStore.opened(
            JSONLStore(at: directory.path, durability: durability, files: files), in: environment)
        for number in 0..<3 { try store.append(EventLine(number)) }
        let segment = try directory.segments()[0]
        try directory.append("a foreign line\n", to: segment)
        try store.append(EventLine(3))
        let bytes = try directory.read(segment)
        if let written {
            files.limitSpace(to: written)
        } else {
            files.fail(.synchronize, with: .inputOutput)
            files.fail(.truncate, with: .inputOutput)
        }
        #expect(throws: SluiceError.self) { try store.append(EventLine(4)) }
        #expect(try written == nil || directory.read(segment) == bytes)
        files.heal()
        try store.append(EventLine(5))
        #expect(try store.drain() == texts([0, 1, 2, 3, 5]))
        #expect(store.dropped.isEmpty)
    }

    // MARK: Renamed and replaced files

    /// Something that another program does to an open segment.
    struct Change: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The events that are delivered, of 5 before the change and 15 behind it.
        let delivered: Range<Int>
        let make: @Sendable (TemporaryDirectory, String) throws -> Void

        init(
            _ description: String, _ delivered: Range<Int> = 0..<20,
            _ make: @escaping @Sendable (TemporaryDirectory, String) throws -> Void
        ) {
            (testDescription, self.delivered, self.make) = (description, delivered, make)
        }
    }

    private static func folder(of segment: String) -> String {
        String(segment[..<(segment.lastIndex(of: "/") ?? segment.startIndex)])
    }

    static let changes: [Change] = [
        Change("nothing") { _, _ in },
        Change("the file is renamed") { try $0.rename($1, to: $1 + ".1") },
        Change("the file is renamed to another segment's name") {
            try $0.rename($1, to: "\(folder(of: $1))/normal-00000000000000ff-1767225600000.jsonl")
        },
        Change("the file is moved to another directory") { try $0.rename($1, to: "elsewhere") },
        Change("the file is renamed twice") {
            try $0.rename($1, to: $1 + ".1")
            try $0.rename($1 + ".1", to: $1 + ".2")
        },
        Change("the file is renamed, and an empty one is created") {
            try $0.rename($1, to: $1 + ".1")
            try $0.write([], to: $1)
        },
        Change("the file is renamed, and one with another text is created") {
            try $0.rename($1, to: $1 + ".1")
            try $0.write(Array("new\n".utf8), to: $1)
        },
        Change("the file is renamed, and a left-over has the temporary name") {
            try $0.rename($1, to: $1 + ".1")
            try $0.write(Array("new\n".utf8), to: $1 + ".new")
        },
        Change("the file is renamed, and a line is appended to it") {
            try $0.rename($1, to: $1 + ".1")
            try $0.append("foreign\n", to: $1 + ".1")
        },
        Change("the file gets a second name") { directory, segment in
            let file = try OpenFile("\(directory.path)/\(segment)", [], in: SystemFileSystem())
            try SystemFileSystem().link(file.descriptor, at: "\(directory.path)/\(segment).1")
        },
        Change("the lock is deleted") { $0.remove(folder(of: $1) + "/lock") },
        Change("the file is copied and truncated", 5..<20) { directory, segment in
            try OpenFile("\(directory.path)/\(segment)", .write, in: SystemFileSystem()).truncate(to: 0)
        },
        Change("the file is deleted", 0..<0) { directory, segment in directory.remove(segment) },
        Change("the file is replaced by a copy", 0..<5) {
            try $0.write(try $0.read($1), to: "copy")
            try $0.rename("copy", to: $1)
        },
        Change("the lock is renamed") { try $0.rename(folder(of: $1) + "/lock", to: folder(of: $1) + "/old") },
        Change("the process's directory is deleted", 5..<20) { $0.remove(folder(of: $1)) },
        Change("the process's directory is renamed") { try $0.rename(folder(of: $1), to: "elsewhere") },
        Change("the process's directory is renamed to that of another one") {
            try $0.rename(folder(of: $1), to: "\(EventID.random { 7 })")
        },
        Change("the process's directory is renamed, and an empty one is created") {
            try $0.rename(folder(of: $1), to: "elsewhere")
            try SystemFileSystem().makeDirectory("\($0.path)/\(folder(of: $1))", mode: 0o700)
        },
        Change("the process's directory and an open segment are renamed") {
            try $0.rename($1, to: $1 + ".1")
            try $0.rename(folder(of: $1), to: "elsewhere")
        },
    ]

    @Test(
        "another program that renames or cuts an open segment costs no later event, and the others are counted",
        arguments: changes, [Event.Priority.normal, .critical])
    func changedFile(change: Change, priority: Event.Priority) throws {
        for isClosed in [false, true] {
            let directory = TemporaryDirectory()
            let store = try opened(in: directory)
            for number in 0..<5 { try store.append(EventLine(number, priority)) }
            try change.make(directory, try directory.segments()[0])
            time.advance(by: .milliseconds(1))
            for number in 5..<20 { try store.append(EventLine(number, priority)) }
            if isClosed {
                let next = try reopened(store, in: directory)
                #expect(Set(try next.drain()).isSuperset(of: texts(change.delivered, priority)))
            } else {
                #expect(try store.drain() == texts(change.delivered, priority))
                #expect(store.dropped.values.reduce(0, +) == 20 - change.delivered.count)
            }
        }
    }

    @Test("dead letters in a file that another program has renamed are kept")
    func renamedLettersAreKept() throws {
        let store = try opened()
        for number in 0..<3 {
            try store.append(EventLine(number))
            try store.rejectFirst()
            if let file = try directory.letterFiles().first, !file.hasSuffix(".1") {
                try directory.rename(file, to: file + ".1")
            }
        }
        #expect(try store.letters().map(\.line.text) == texts(0..<3))
        #expect(store.deadLettersDropped.isEmpty)
    }

    /// The order in which another program writes the lines of three letters back.
    private static let orders: [[Int]] = [[0, 1, 2], [2, 1, 0], [1, 2], [2, 0, 1], [0, 0, 1, 2], [1]]

    @Test(
        "a dead letter whose line another program has moved is kept, and one whose line is gone is counted",
        arguments: orders)
    func movedLettersAreKept(order: [Int]) throws {
        let store = try opened()
        try store.rejectEach(0..<3)
        let letters = try store.letters()
        let file = try directory.letterFiles()[0]
        let lines = try directory.read(file).split(separator: LineFormat.newline)
        try directory.write(order.flatMap { lines[$0] + [LineFormat.newline] }, to: file)
        let kept = Set(order.prefix(3)).subtracting([1])
        #expect(try store.discard([letters[1].id]) == 1)
        #expect(Set(try store.letters().map(\.line.text)) == Set(texts(kept)))
        #expect(store.deadLettersDropped[.corrupt, default: 0] == 2 - kept.count)
        #expect(Set(try reopened(store).store.deadLetters().map(\.line.text)) == Set(texts(kept)))
    }
}
