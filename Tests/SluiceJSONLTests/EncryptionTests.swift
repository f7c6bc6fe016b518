import Sluice
import TestSupport
import Testing

@testable import SluiceJSONL

/// Encryption with a toy cipher.
struct EncryptionTests: StoreSuite {
    private struct WrongKey: Error {}

    let directory = TemporaryDirectory()

    @Test("encrypted events come back unchanged, and nothing on the disk is readable")
    func encryptedEventsComeBack() throws {
        let store = try opened(encryption: .toy(7))
        for number in 0..<100 { try store.append(EventLine(number, padding: number)) }
        #expect(store.store.backlog.bytes == (0..<100).reduce(0) { $0 + EventLine($1, padding: $1).bytes.count })
        for name in try directory.segments() {
            let text = String(decoding: try directory.read(name), as: UTF8.self)
            #expect(!text.contains("priority"))
            #expect(text.hasPrefix(#"{"sealed":""#))
            #expect(text.hasSuffix("\"}\n"))
        }
        let batch = try #require(try store.nextBatch())
        #expect(batch.texts == (0..<100).map { EventLine($0, padding: $0).text })
        try store.settle(batch, rejected: batch.rejected("no"))
        for name in try directory.files() {
            #expect(!String(decoding: try directory.read(name), as: UTF8.self).contains("priority"))
        }
        store.expectConservation()
    }

    /// The key of an event, the one of a process that can't read it, and the one of a process that can.
    struct Keys: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let written: LineEncryption
        let other: LineEncryption?
        let right: LineEncryption
    }

    static let keys = [
        Keys(testDescription: "another key", written: .toy(7), other: .toy(8), right: .toy(7)),
        Keys(testDescription: "no key", written: .toy(7), other: nil, right: .toy(7)),
        Keys(
            testDescription: "the named key is gone", written: ring("2025"),
            other: LineEncryption(keyID: "2027", encrypt: { $0 }) { bytes, id in
                guard id == "2027" else { throw WrongKey() }
                return bytes
            }, right: ring("2026-05")),
    ]

    @Test("with another key or without one, nothing is lost: the right key finds it later", arguments: keys)
    func wrongKeyLosesNothing(keys: Keys) throws {
        try directory.leave([EventLine(0)], encryption: keys.written)
        let store = try opened(encryption: keys.other)
        try store.append(EventLine(1))
        for _ in 0..<2 { #expect(throws: SluiceError.self) { try store.nextBatch() } }
        #expect(try store.drain() == texts([1]))
        #expect(store.notes.count == 1)
        #expect(store.dropped.isEmpty)
        #expect(try reopened(store, encryption: keys.right).drain() == texts([0]))
    }

    /// The cipher of three keys, which writes with one of them.
    private static func ring(_ current: String) -> LineEncryption {
        let keys: [String: UInt8] = ["2025": 5, "2026-05": 6, "2026-11": 7]
        @Sendable func turned(_ bytes: [UInt8], _ id: String?) throws -> [UInt8] {
            guard let key = id.map({ keys[$0] }) ?? 4 else { throw WrongKey() }
            return bytes.map { $0 ^ key }
        }
        return LineEncryption(keyID: current, encrypt: { try turned($0, current) }, decrypt: turned)
    }

    @Test("lines of three keys, of a nameless one, and without encryption are read, and each line names its key")
    func readsLinesOfSeveralKeys() throws {
        let first = LineEncryption(encrypt: { $0.map { $0 ^ 4 } }, decrypt: { $0.map { $0 ^ 4 } })
        try directory.leave([EventLine(0)], encryption: first)
        for (number, id) in ["2025", "2026-05", "2026-11"].enumerated() {
            try directory.leave([EventLine(number + 1)], encryption: Self.ring(id))
        }
        try directory.leave([EventLine(4)])
        let texts = try directory.segments().map { String(decoding: try directory.read($0), as: UTF8.self) }
        for id in ["2025", "2026-05", "2026-11"] {
            #expect(texts.count { $0.contains(#"","key":"\#(id)","crc":"#) } == 1)
        }
        let store = try opened(encryption: Self.ring("2026-11"))
        try store.append(EventLine(5))
        #expect(try store.drain() == SluiceJSONLTests.texts(0..<6))
        #expect(store.dropped.isEmpty)
    }

    @Test(
        "an id that can't be stored is refused",
        arguments: ["", "a b", "a\"", "\u{E9}", String(repeating: "k", count: 65)])
    func refusesKeyID(id: String) throws {
        let encryption = LineEncryption(keyID: id, encrypt: { $0 }, decrypt: { bytes, _ in bytes })
        expectError(.invalidArgument) {
            try JSONLStore(at: directory.path, encryption: encryption).open()
        }
    }

    @Test("if encryption fails, the event is refused and not written in plain text")
    func failedEncryptionRefusesEvent() throws {
        let encryption = LineEncryption(encrypt: { _ in throw WrongKey() }, decrypt: { $0 })
        let store = try opened(encryption: encryption)
        #expect(throws: SluiceError.self) { try store.append(EventLine(0)) }
        #expect(try directory.files().isEmpty)
    }

    @Test("a flipped bit in an encrypted line is damage, not a wrong key")
    func flippedBitIsDamage() throws {
        try directory.leave([EventLine(0), EventLine(1)], encryption: .toy(7))
        let name = try directory.segments()[0]
        var bytes = try directory.read(name)
        bytes[20] ^= 1
        try directory.write(bytes, to: name)
        let store = try opened(encryption: .toy(7))
        #expect(try store.drain() == texts([1]))
        #expect(store.dropped == [.corrupt: 1])
    }
}
