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

    @Test("with another key or without one, nothing is lost: the right key finds it later", arguments: [UInt8(8), nil])
    func wrongKeyLosesNothing(other: UInt8?) throws {
        try directory.leave([EventLine(0)], encryption: .toy(7))
        let store = try opened(encryption: other.map { .toy($0) })
        try store.append(EventLine(1))
        for _ in 0..<2 { #expect(throws: SluiceError.self) { try store.nextBatch() } }
        #expect(try store.drain() == texts([1]))
        #expect(store.notes.count == 1)
        #expect(store.dropped.isEmpty)
        store.expectConservation()
        store.store.close()
        let right = try opened(encryption: .toy(7))
        #expect(try right.drain() == texts([0]))
    }

    /// The cipher of three keys, which writes with one of them.
    private func ring(_ current: String) -> LineEncryption {
        let keys: [String: UInt8] = ["2025": 5, "2026-05": 6, "2026-11": 7]
        @Sendable func turned(_ bytes: [UInt8], _ id: String?) throws -> [UInt8] {
            guard let key = id.map({ keys[$0] }) ?? 4 else { throw WrongKey() }
            return bytes.map { $0 ^ key }
        }
        return LineEncryption(keyID: current, encrypt: { try turned($0, current) }, decrypt: turned)
    }

    @Test("lines of three keys and of none are read, and each line names its key")
    func readsLinesOfSeveralKeys() throws {
        let first = LineEncryption(encrypt: { $0.map { $0 ^ 4 } }, decrypt: { $0.map { $0 ^ 4 } })
        try directory.leave([EventLine(0)], encryption: first)
        for (number, id) in ["2025", "2026-05", "2026-11"].enumerated() {
            try directory.leave([EventLine(number + 1)], encryption: ring(id))
        }
        let texts = try directory.segments().map { String(decoding: try directory.read($0), as: UTF8.self) }
        for id in ["2025", "2026-05", "2026-11"] {
            #expect(texts.count { $0.contains(#"","key":"\#(id)","crc":"#) } == 1)
        }
        let store = try opened(encryption: ring("2026-11"))
        #expect(try store.drain() == SluiceJSONLTests.texts(0..<4))
        #expect(store.dropped.isEmpty)
    }

    @Test("a line whose key is gone stays on the disk")
    func keepsLinesOfUnknownKeys() throws {
        try directory.leave([EventLine(0)], encryption: ring("2025"))
        let other = LineEncryption(keyID: "2027", encrypt: { $0 }, decrypt: { _, _ in throw WrongKey() })
        let store = try opened(encryption: other)
        for _ in 0..<2 { #expect(throws: SluiceError.self) { try store.nextBatch() } }
        #expect(try store.nextBatch() == nil)
        #expect(store.notes.count == 1)
        store.store.close()
        let right = try opened(encryption: ring("2026-05"))
        #expect(try right.drain() == texts([0]))
    }

    @Test(
        "an id that can't be stored is refused",
        arguments: ["", "a b", "a\"", "\u{E9}", String(repeating: "k", count: 65)])
    func refusesKeyID(id: String) throws {
        let encryption = LineEncryption(keyID: id, encrypt: { $0 }, decrypt: { bytes, _ in bytes })
        let error = #expect(throws: SluiceError.self) {
            try JSONLStore(at: directory.path, encryption: encryption).open()
        }
        #expect(error?.code == .invalidArgument)
    }

    @Test("events from before encryption was turned on are still delivered")
    func plainEventsAreStillDelivered() throws {
        try directory.leave([EventLine(0)])
        let store = try opened(encryption: .toy(7))
        try store.append(EventLine(1))
        #expect(try store.drain() == texts([0, 1]))
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
