import Sluice
import TestSupport
import Testing

@testable import SluiceJSONL

/// Dead letters that are discarded or replayed while the batch of their event is not settled.
struct DiscardedLetterTests: StoreSuite {
    let directory = TemporaryDirectory()
    let files = FaultyFileSystem()

    /// The store of four events, with a dead letter of the second one, and a batch that is not settled.
    private func rejecting(_ encryption: LineEncryption? = nil) throws -> TestedStore {
        let store = try opened(encryption: encryption)
        let batch = try store.batch(of: 0..<4)
        store.store.reject([batch.rejected("bad")[1]], in: batch.id)
        return store
    }

    @Test(
        "the event of a discarded dead letter is not sent by a later process",
        arguments: [false, true], [false, true])
    func discardedEventIsGone(isEarlier: Bool, isEncrypted: Bool) throws {
        let encryption = isEncrypted ? LineEncryption.toy(7) : nil
        var store = try rejecting(encryption)
        if isEarlier { store = try reopened(store, encryption: encryption) }
        #expect(try store.discard(store.letters().map(\.id)) == 1)
        let found = try afterKill(encryption)
        #expect(found.waiting == [0, 2, 3] && found.letters.isEmpty)
        if isEarlier { #expect(try store.nextBatch()?.numbers == [0, 2, 3]) }
        #expect(store.dropped.isEmpty)
        store.expectConservation()
    }

    @Test("the event of a replayed dead letter is sent once by a later process", arguments: [false, true])
    func replayedEventComesOnce(isEarlier: Bool) throws {
        var store = try rejecting()
        if isEarlier { store = try reopened(store) }
        #expect(try store.replay(store.letters().map(\.id)) == 1)
        let found = try afterKill()
        #expect(found.waiting.sorted() == [0, 1, 2, 3] && found.letters.isEmpty)
    }

    @Test("a dead letter that was never written is discarded with its event", arguments: [false, true])
    func discardsUnwrittenLetter(isSettled: Bool) throws {
        let store = try opened()
        let batch = try store.batch(of: 0..<4)
        let home = try #require(directory.names.first)
        files.fail(.create, with: .noSpace, below: ["\(directory.path)/\(home)/rejected-"])
        store.store.reject([batch.rejected("bad")[1]], in: batch.id)
        if isSettled { #expect(throws: SluiceError.self) { try store.settle(batch) } }
        #expect(try store.discard(store.letters().map(\.id)) == 1)
        #expect(try !afterKill().waiting.contains(1))
    }

    /// Each operation fails permanently from its nth call on, as if the process had been killed there.
    @Test(
        "wherever a discard ends, the event is not sent, and is a dead letter if the discard failed before",
        arguments: FaultyFileSystem.Operation.allCases)
    func discardCanEndAnywhere(operation: FaultyFileSystem.Operation) throws {
        for skip in 0..<16 {
            let trial = DiscardedLetterTests()
            let store = try trial.rejecting()
            let ids = try store.letters().map(\.id)
            trial.files.fail(operation, with: .inputOutput, after: skip)
            var isDiscarded = false
            do throws(SluiceError) {
                isDiscarded = try store.discard(ids) == 1
            } catch {
                #expect(error.code == .inputOutput)
            }
            let found = try trial.afterKill()
            #expect(found.waiting == [0, 2, 3], "\(operation) \(skip)")
            #expect(found.letters.isEmpty || !isDiscarded, "\(operation) \(skip)")
            trial.files.heal()
            // What is left of it is done by the next discard.
            _ = try store.discard(try store.letters().map(\.id))
            let last = try trial.afterKill()
            #expect(last.waiting == [0, 2, 3] && last.letters.isEmpty, "\(operation) \(skip)")
        }
    }

    @Test("a discard fails while the event may be in a file that can't be read")
    func unreadableSegmentKeepsLetter() throws {
        try rejecting().store.close()
        let store = try opened()
        let ids = try store.letters().map(\.id)
        let segment = try #require(try directory.segments().first)
        files.fail(.open, with: .inputOutput, below: ["\(directory.path)/\(segment)"])
        expectError(.inputOutput) { try store.discard(ids) }
        #expect(try store.letters().count == 1)
        files.heal()
        #expect(try store.discard(ids) == 1)
        #expect(try afterKill().waiting == [0, 2, 3])
    }

    @Test("files of dead letters that are moved while they are read are read at their new place")
    func findsMovedLetters() throws {
        let earlier = try (0..<2).map { _ in try opened() }
        for (number, store) in earlier.enumerated() {
            try store.append(.canonical(number))
            try store.rejectFirst()
            try store.append(.canonical(10 + number))
        }
        for store in earlier { store.store.close() }
        let store = try opened()
        #expect(directory.names.count == 2)
        let directories = try directory.letterFiles()
        // A worker settles the last batch of an adopted directory, which is then removed.
        files.beforeNextOpening(of: directories.map { "\(directory.path)/\($0)" }) {
            do {
                #expect(try store.drain().count == 2)
            } catch {
                Issue.record(error)
            }
        }
        #expect(Set(try store.letters().compactMap(\.number)) == [0, 1])
        #expect(directory.names.count == 1)
        #expect(store.deadLettersDropped.isEmpty)
    }
}
