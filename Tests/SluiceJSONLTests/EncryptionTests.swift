import Sluice
import TestSupport
import Testing

@testable import SluiceJSONL

/// Encryption with a toy cipher.
struct EncryptionTests {
    private struct WrongKey: Error {}

    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func key(_ key: UInt8) -> LineEncryption { .toy(key) }

    @Test("encrypted events come back unchanged, and nothing on the disk is readable")
    func encryptedEventsComeBack() throws {
        let store = try TestedStore.opened(JSONLStore(at: directory.path, encryption: key(7)))
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
        try store.settle(batch, rejected: [DeadLetter(line: batch.events[0], reason: "no", date: .sample)])
        for name in try directory.files() {
            #expect(!String(decoding: try directory.read(name), as: UTF8.self).contains("priority"))
        }
        store.expectConservation()
    }

    @Test("with another key or without one, nothing is lost: the right key finds it later", arguments: [UInt8(8), nil])
    func wrongKeyLosesNothing(other: UInt8?) throws {
        try directory.leave([EventLine(0)], encryption: key(7))
        let store = try TestedStore.opened(JSONLStore(at: directory.path, encryption: other.map { key($0) }))
        try store.append(EventLine(1))
        for _ in 0..<2 { #expect(throws: SluiceError.self) { try store.nextBatch() } }
        #expect(try store.drain() == texts([1]))
        #expect(store.notes.count == 1)
        #expect(store.dropped.isEmpty)
        store.expectConservation()
        store.store.close()
        let right = try TestedStore.opened(JSONLStore(at: directory.path, encryption: key(7)))
        #expect(try right.drain() == texts([0]))
    }

    @Test("events from before encryption was turned on are still delivered")
    func plainEventsAreStillDelivered() throws {
        try directory.leave([EventLine(0)])
        let store = try TestedStore.opened(JSONLStore(at: directory.path, encryption: key(7)))
        try store.append(EventLine(1))
        #expect(try store.drain() == texts([0, 1]))
    }

    @Test("if encryption fails, the event is refused and not written in plain text")
    func failedEncryptionRefusesEvent() throws {
        let encryption = LineEncryption(encrypt: { _ in throw WrongKey() }, decrypt: { $0 })
        let store = try TestedStore.opened(JSONLStore(at: directory.path, encryption: encryption))
        #expect(throws: SluiceError.self) { try store.append(EventLine(0)) }
        #expect(try directory.files().isEmpty)
    }

    @Test("a flipped bit in an encrypted line is damage, not a wrong key")
    func flippedBitIsDamage() throws {
        try directory.leave([EventLine(0), EventLine(1)], encryption: key(7))
        let name = try directory.segments()[0]
        var bytes = try directory.read(name)
        bytes[20] ^= 1
        try directory.write(bytes, to: name)
        let store = try TestedStore.opened(JSONLStore(at: directory.path, encryption: key(7)))
        #expect(try store.drain() == texts([1]))
        #expect(store.dropped == [.corrupt: 1])
    }
}
