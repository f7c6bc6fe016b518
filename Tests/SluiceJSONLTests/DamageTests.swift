import Sluice
import TestSupport
import Testing

@testable import SluiceJSONL

/// Damaged files: no altered event is delivered.
struct DamageTests {
    private let directory = TemporaryDirectory()
    private let name: String
    private let intact: [UInt8]
    private let expected: [String]

    init() throws {
        try directory.leave((0..<6).map { EventLine($0) })
        name = try directory.segments()[0]
        intact = try directory.read(name)
        expected = texts(0..<6)
    }

    /// Reads the damaged file as the next process does. Settles nothing.
    private func readBack(
        _ bytes: [UInt8], damaged: Int? = nil, _ location: SourceLocation = #_sourceLocation
    ) throws -> [String] {
        try directory.write(bytes, to: name)
        let store = try TestedStore.opened(JSONLStore(at: directory.path))
        let texts = try store.nextBatch()?.texts ?? []
        #expect(store.dropped.keys.allSatisfy { $0 == .corrupt }, sourceLocation: location)
        if let damaged { #expect(store.dropped[.corrupt, default: 0] == damaged, sourceLocation: location) }
        #expect(store.recovered == texts.count + store.dropped.values.reduce(0, +), sourceLocation: location)
        store.store.close()
        return texts
    }

    @Test("a file that is cut anywhere yields all of its complete lines, and a torn tail is one lost event")
    func cutFileKeepsCompleteLines() throws {
        for length in 0...intact.count {
            let whole = intact[..<length].count { $0 == LineFormat.newline }
            let torn = length == 0 || intact[length - 1] == LineFormat.newline ? 0 : 1
            #expect(try readBack(Array(intact[..<length]), damaged: torn) == Array(expected[..<whole]))
        }
    }

    @Test("a flipped bit never alters an event, and costs at most two events")
    func flippedBitsNeverAlterEvents() throws {
        for index in intact.indices {
            for bit in 0..<8 {
                var bytes = intact
                bytes[index] ^= 1 << bit
                let texts = try readBack(bytes)
                #expect(texts.count >= 4)
                #expect(texts == expected.filter { texts.contains($0) })
            }
        }
    }

    @Test(
        "text before or behind the lines costs each of them, and each is counted",
        arguments: ["\r", " ", "\t\t", "  \r", ",", "xx", "}", "\u{FEFF}", "# a comment", ",\"a\":1}", "\u{1}"],
        [true, false])
    func surroundedLinesAreCounted(text: String, isBehind: Bool) throws {
        let lines = intact.split(separator: LineFormat.newline)
        let surrounded = lines.map { (isBehind ? $0 + Array(text.utf8) : Array(text.utf8) + $0) + [LineFormat.newline] }
        #expect(try readBack(Array(surrounded.joined()), damaged: 6) == [])
        #expect(try readBack(Array(surrounded[2] + intact), damaged: 1) == expected)
    }

    @Test("NUL bytes at the end, as after a loss of power, are not delivered", arguments: [1, 4_096, 1_000_000])
    func nulTailIsNotDelivered(count: Int) throws {
        let nul = [UInt8](repeating: 0, count: count)
        #expect(try readBack(intact + nul) == expected)
        #expect(try readBack(intact.dropLast(10) + nul) == Array(expected.dropLast()))
        #expect(try readBack(nul) == [])
    }

    @Test("a foreign block costs only the events that it covers")
    func foreignBlockCostsOnlyCoveredEvents() throws {
        let lineLength = intact.count / 6
        for block in [[UInt8](repeating: 0xFF, count: 40), Array("\n\n\n{\"a\":1}\n{}\n".utf8)] {
            var bytes = intact
            bytes.replaceSubrange(lineLength + 5..<lineLength + 5 + block.count, with: block)
            #expect(try readBack(bytes) == [expected[0]] + expected[2...])
        }
    }

    @Test(
        "a file without an event is removed, and counted if it may have had one",
        arguments: [("rubbish", 1), ("rubbish\n", 0), ("{\"a\":{}\n", 1), ("\u{0}\u{0}\n\n# a\n", 1), ("{}\n[1]\n", 0)])
    func fileWithoutGoodLinesIsRemoved(text: String, damaged: Int) throws {
        try directory.write(Array(text.utf8), to: name)
        let store = try TestedStore.opened(JSONLStore(at: directory.path))
        #expect(try store.nextBatch() == nil)
        #expect(store.dropped[.corrupt, default: 0] == damaged && store.recovered == damaged)
        #expect(store.store.backlog.isEmpty)
        #expect(try directory.segments().isEmpty)
    }
}
