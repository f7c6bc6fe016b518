import Sluice
import TestSupport
import Testing

@testable import SluiceJSONL

extension StoreSuite {
    /// Appends events, and rejects them all.
    func rejectAll(_ numbers: some Sequence<Int>, in store: TestedStore, padding: Int = 0) throws {
        for number in numbers { try store.append(.canonical(number, padding: padding)) }
        while let batch = try store.nextBatch() { try store.settle(batch, rejected: batch.rejected("bad")) }
    }
}

extension TemporaryDirectory {
    /// The stored lines of dead letters.
    func letterLines() throws -> [String] {
        try letterFiles().flatMap { try read($0).split(separator: LineFormat.newline) }
            .map { String(decoding: $0, as: UTF8.self) }
    }
}

extension Batch {
    /// All events of the batch.
    func rejected(_ reason: String) -> [DeadLetter] {
        events.map { DeadLetter(line: $0, reason: reason, date: .sample) }
    }

    var numbers: [Int] { events.compactMap(\.number) }
}

extension DeadLetter {
    var number: Int? { line.number }
}

extension EventLine {
    /// A line with an id that its number decides.
    static func canonical(_ number: Int, _ priority: Event.Priority = .normal, padding: Int = 0) -> EventLine {
        let word = priority == .critical ? #","priority":"critical""# : ""
        let pad = String(repeating: "x", count: padding)
        let id = EventID(high: 0x0190_0000_0000_7000, low: 1 << 63 | UInt64(number))
        let text = #"{"id":"\#(id)","event":"E","time":1\#(word),"properties":{"pad":"\#(pad)"}}"#
        return EventLine(bytes: Array(text.utf8)[...], priority: priority)
    }

    var number: Int? { id.map { Int($0.low & 0xFFFF_FFFF) } }
}

extension LineEncryption {
    private struct WrongKey: Error {}

    /// A toy cipher: each byte is changed by the key, and the key is the first byte.
    static func toy(_ key: UInt8) -> LineEncryption {
        LineEncryption(
            encrypt: { [key] + $0.map { $0 ^ key } },
            decrypt: { encrypted in
                guard encrypted.first == key else { throw WrongKey() }
                return encrypted.dropFirst().map { $0 ^ key }
            })
    }
}
