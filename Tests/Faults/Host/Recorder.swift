import Sluice

/// Writes a line for each fact to the standard output, a pipe to the process that started this one. The records therefore
/// survive it.
///
///     a 17 81920377     the event of that number was accepted, at that time of the monotonic clock in microseconds
///     r 18 storageFull  the event was refused
///     b 3               a batch is received: the lines up to the next record are its events
///     {"id":…}          an event
///     s 3               the store has forgotten the batch
///     u 3               the store could not forget the batch for good
///     d 20 evicted      the number of accepted events that are gone, of this process or an earlier one, and the reason
///     = ledger {…}      a command has ended
final class Recorder: Sendable {
    // The records of two threads must not mix: a batch is longer than a pipe's atomic write.
    private let output = Locked<Int32>(1)

    func record(_ line: String) {
        write(Array(line.utf8) + [UInt8(ascii: "\n")])
    }

    func received(_ batch: Batch) {
        var bytes = Array("b \(batch.id)\n".utf8)
        for line in batch.events {
            bytes += line.bytes
            bytes.append(UInt8(ascii: "\n"))
        }
        write(bytes)
    }

    private func write(_ bytes: [UInt8]) {
        output.withLock { System.write(bytes, to: $0) }
    }
}

/// A receiver that records every event before it accepts it, or writes it to a lake.
struct RecordingTransport: Transport {
    let recorder: Recorder
    var lake: (any Transport)?

    func open(_ observer: TransportObserver, in environment: PipelineEnvironment) throws(SluiceError) {
        try lake?.open(observer, in: environment)
    }

    func send(_ batch: Batch) async throws -> Verdicts {
        if let lake { return try await lake.send(batch) }
        recorder.received(batch)
        return .all(.accepted)
    }
}

/// A store that records its results.
final class RecordingStore: Store {
    private let store: any Store
    private let recorder: Recorder
    private let refusal = Locked<SluiceError?>(nil)

    init(_ store: any Store, recorder: Recorder) {
        self.store = store
        self.recorder = recorder
    }

    /// Returns why the last event was refused. Only one thread tracks.
    func takeRefusal() -> SluiceError? {
        refusal.withLock { refusal in
            defer { refusal = nil }
            return refusal
        }
    }

    func append(_ line: EventLine) throws(SluiceError) {
        do throws(SluiceError) {
            try store.append(line)
        } catch {
            refusal.withLock { $0 = error }
            throw error
        }
    }

    func reject(_ letters: [DeadLetter], in batch: Batch.ID) { store.reject(letters, in: batch) }
    func deadLetters() throws(SluiceError) -> [DeadLetter] { try store.deadLetters() }
    func replayDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int { try store.replayDeadLetters(ids) }
    func discardDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int { try store.discardDeadLetters(ids) }

    func settle(_ places: [Int], of batch: Batch.ID) { store.settle(places, of: batch) }

    func settle(_ batch: Batch.ID) throws(SluiceError) {
        do throws(SluiceError) {
            try store.settle(batch)
        } catch {
            recorder.record("u \(batch)")
            throw error
        }
        recorder.record("s \(batch)")
    }

    func open(_ observer: StoreObserver, in environment: PipelineEnvironment) throws(SluiceError) {
        try store.open(
            StoreObserver(
                onRecovered: { observer.recovered($0) }, onUnread: { observer.unread($0) },
                onDropped: { [recorder] count, reason in
                    observer.dropped(count, reason)
                    recorder.record("d \(count) \(reason.rawValue)")
                },
                onNote: { observer.note($0) }), in: environment)
    }

    func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? {
        try store.nextBatch(size)
    }
    var backlog: Backlog { store.backlog }
    var capacity: Int { store.capacity }
    func synchronize(while mayContinue: () -> Bool) throws(SluiceError) { try store.synchronize(while: mayContinue) }
    func close() { store.close() }
}
