import Sluice
import SluiceFiles
import Testing

@testable import SluiceJSONL

struct DeadLetterTests {
    private let directory: TemporaryDirectory
    private let time = ManualTime()

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func opened(capacity: Int = 10_485_760, sealing: LineSealing? = nil) throws -> TestedStore {
        try .opened(
            JSONLStore(at: directory.path, capacity: capacity, sealing: sealing, environment: time.environment))
    }

    private func reject(_ line: EventLine, in store: TestedStore, reason: String = "no") throws {
        try store.append(line)
        let batch = try #require(try store.nextBatch())
        try store.settle(batch, rejected: batch.events.map { RejectedEvent(line: $0, reason: reason) })
    }

    private func letters() throws -> [String] {
        try directory.files().filter { $0.contains("/rejected/") }
            .flatMap { try String(decoding: directory.read($0), as: UTF8.self).split(separator: "\n") }
            .map(String.init)
    }

    @Test("a rejected event is kept as a line with the reason, the time and the event")
    func line() throws {
        let store = try opened()
        try reject(EventLine(0), in: store, reason: "of type \"x\"\n")
        #expect(
            try letters() == [
                #"{"reason":"of type \"x\"\n","at":1800000000000,"event":\#(EventLine(0).text)}"#
            ])
        #expect(store.store.backlog.isEmpty)
        store.expectConservation()
    }

    @Test("dead letters are capped, and the oldest go first")
    func capped() throws {
        let store = try opened(capacity: 80_000)
        for number in 0..<100 { try reject(EventLine(number, padding: 1_000), in: store) }
        let kept = try letters()
        #expect((6...10).contains(kept.count))
        #expect(kept.last?.contains(EventLine(99, padding: 1_000).text) == true)
        #expect(kept.first?.contains(EventLine(100 - kept.count, padding: 1_000).text) == true)
    }

    @Test("the cap holds over lives, and a file of an earlier life is not written to again")
    func cappedOverLives() throws {
        for number in 0..<30 {
            let store = try opened(capacity: 80_000)
            try reject(EventLine(number, padding: 1_000), in: store)
            store.store.close()
        }
        let kept = try letters()
        #expect((6...10).contains(kept.count))
        #expect(try directory.files().count == kept.count)
        #expect(try SystemFileSystem().list(directory.path).count == 1)
    }

    @Test("the dead letters of an adopted folder move to the adopter's")
    func adopted() throws {
        let stores = try (0..<3).map { _ in try opened() }
        for (index, store) in stores.enumerated() {
            try reject(EventLine(index), in: store)
            try store.append(EventLine(10 + index))
        }
        for store in stores { store.store.close() }
        let store = try opened()
        _ = try store.drain()
        #expect(try SystemFileSystem().list(directory.path).count == 1)
        #expect(try letters().count == 3)
    }

    @Test("dead letters that cannot be kept do not stop the delivery")
    func cannotKeep() throws {
        let files = FaultyFileSystem()
        let store = try TestedStore.opened(JSONLStore(at: directory.path, files: files))
        try store.append(EventLine(0))
        let batch = try #require(try store.nextBatch())
        files.fail(.write, with: .noSpace)
        try store.settle(batch, rejected: [RejectedEvent(line: batch.events[0], reason: "no")])
        #expect(store.notes.count == 1)
        #expect(store.store.backlog.isEmpty)
        store.expectConservation()
    }
}
