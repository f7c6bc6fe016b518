import Sluice
import SluiceFiles
import SluiceHTTP

/// The object under test: it accepts events and delivers them.
///
/// It is used on the main thread, to separate its system calls from those of the pipeline's own threads.
@MainActor
protocol Subject {
    func track(_ event: NumberedEvent)

    /// Delivers until nothing waits, or no progress is made.
    func deliver() async

    /// Delivers at most this number of batches.
    func deliver(batches: Int) async

    /// Closes the pipeline without delivering anything.
    func close() async

    var books: Books { get }
}

/// The counts of the process, as the product reports them.
struct Books {
    var tracked = 0
    var refused = 0
    var recovered = 0
    var delivered = 0
    var dropped: [DropReason: Int] = [:]
    var waiting = 0
    /// The backlog of the store: events it has counted, and the bytes of all that wait.
    var backlog: Backlog

    var json: String {
        let reasons = dropped.map { "\"\($0.key.rawValue)\":\($0.value)" }.sorted().joined(separator: ",")
        return #"{"tracked":\#(tracked),"refused":\#(refused),"recovered":\#(recovered),"delivered":\#(delivered),"#
            + #""waiting":\#(waiting),"stored":\#(backlog.events),"bytes":\#(backlog.bytes),"#
            + #""dropped":{\#(reasons)}}"#
    }
}

/// A pipeline that delivers on its own threads.
struct PipelineSubject: Subject {
    let pipeline: Pipeline
    let store: RecordingStore
    let isAlwaysDelivering: Bool

    init(_ settings: Settings, store: RecordingStore, recorder: Recorder) throws {
        self.store = store
        isAlwaysDelivering = settings.delivers
        let policy = DeliveryPolicy(
            batch: BatchSize(events: settings.batch, bytes: 262_144), flushCount: settings.batch,
            flushInterval: .seconds(5), backOff: .milliseconds(20), maximumBackOff: .milliseconds(200))
        pipeline = try Pipeline(delivery: policy, onDiagnostic: { System.note($0.message) }) {
            store
            RecordingTransport(recorder: recorder, lake: settings.lake.map { Self.lake($0, isPlain: settings.isPlain) })
        }
        if !settings.delivers { pipeline.pauseDelivery() }
    }

    private static func lake(_ place: String, isPlain: Bool) -> any Transport {
        guard place.hasPrefix("http") else { return FileTransport(at: place, gzip: !isPlain) }
        return HTTPTransport(
            to: place, format: .objects(region: "us-east-1", accessKey: "test", secretKey: "test"))
    }

    func track(_ event: NumberedEvent) {
        pipeline.track(NumberedEvent.name, event.properties, priority: event.priority)
    }

    func deliver() async {
        pipeline.resumeDelivery()
        var rounds = 0
        // A flush covers the events that waited when it began, and ends at a failure. Here everything must be delivered.
        while rounds < 10, books.waiting > 0 || !store.backlog.isEmpty {
            let report = await pipeline.flush()
            if report.delivered == 0 { rounds += 1 }
        }
        if !isAlwaysDelivering { pipeline.pauseDelivery() }
    }

    func deliver(batches: Int) async { System.fail("batches are counted with --direct only") }

    func close() async { await pipeline.shutdown(timeout: .zero) }

    var books: Books {
        let ledger = pipeline.ledger
        var books = Books(backlog: store.backlog)
        books.tracked = ledger.tracked
        for route in ledger.routes {
            books.recovered = route.recovered
            books.delivered = route.delivered
            books.dropped = route.dropped
            books.waiting = route.waiting
        }
        return books
    }
}

/// Only a store, used from one thread.
final class StoreSubject: Subject {
    private let store: RecordingStore
    private let recorder: Recorder
    private let size: BatchSize
    private let observed = Locked((recovered: 0, dropped: [DropReason: Int]()))
    private var tracked = 0
    private var refused = 0
    private var delivered = 0

    init(_ settings: Settings, store: RecordingStore, recorder: Recorder) throws {
        self.store = store
        self.recorder = recorder
        size = BatchSize(events: settings.batch, bytes: 262_144)
        let observed = observed
        try store.open(
            StoreObserver(
                onRecovered: { count in observed.withLock { $0.recovered += count } },
                onDropped: { count, reason in observed.withLock { $0.dropped[reason, default: 0] += count } },
                onNote: { System.note($0) }), in: PipelineEnvironment())
    }

    func track(_ numbered: NumberedEvent) {
        tracked += 1
        let event = Event(
            id: EventID(high: UInt64(numbered.writer), low: UInt64(numbered.number)), name: NumberedEvent.name,
            time: SystemTime().wallTime(), priority: numbered.priority, properties: numbered.properties)
        do throws(SluiceError) {
            try store.append(try EventLine(event))
        } catch {
            refused += 1
        }
    }

    func deliver() async { deliver(atMost: .max) }

    func deliver(batches: Int) async { deliver(atMost: batches) }

    private func deliver(atMost limit: Int) {
        var failures = 0
        var batches = 0
        while failures < 10, batches < limit {
            do throws(SluiceError) {
                guard let batch = try store.nextBatch(size) else { return }
                recorder.received(batch)
                delivered += batch.events.count
                batches += 1
                try store.settle(batch.id)
            } catch {
                failures += 1
            }
        }
    }

    func close() async { store.close() }

    var books: Books {
        let (recovered, dropped) = observed.withLock { $0 }
        var books = Books(backlog: store.backlog)
        books.tracked = tracked
        books.refused = refused
        books.recovered = recovered
        books.delivered = delivered
        books.dropped = dropped
        books.waiting = tracked - refused + recovered - delivered - dropped.values.reduce(0, +)
        return books
    }
}
