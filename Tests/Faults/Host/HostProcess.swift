import Sluice
import SluiceJSONL

/// A host that obeys commands until someone kills it.
@MainActor
struct HostProcess {
    private let settings: Settings
    private let recorder = Recorder()
    private let store: RecordingStore
    private let subject: any Subject
    private var next: Int

    init(_ settings: Settings) throws {
        self.settings = settings
        next = settings.first
        store = RecordingStore(
            JSONLStore(at: settings.directory, durability: settings.durability, capacity: settings.capacity),
            recorder: recorder)
        subject =
            settings.isDirect
            ? try StoreSubject(settings, store: store, recorder: recorder)
            : try PipelineSubject(settings, store: store, recorder: recorder)
        recorder.record("= open \(subject.books.json)")
    }

    mutating func run() async {
        for command in settings.commands { await obey(command) }
        guard settings.isInteractive else { return }
        while let command = System.nextLine() { await obey(command) }
    }

    private mutating func obey(_ command: String) async {
        let words = command.split(separator: " ")
        let numbers = words.dropFirst().map { Int($0) ?? { System.fail("no number in: \(command)") }() }
        switch words.first {
        case "track": track(numbers.first ?? 0, pause: UInt32(numbers.dropFirst().first ?? 0))
        case "deliver": await deliver(batches: numbers.first)
        case "synchronize": synchronize()
        case "fork": fork(tracking: numbers.first ?? 0)
        case "ledger": break
        case "close": await subject.close()
        default: System.fail("no command \(command)")
        }
        recorder.record("= \(words[0]) \(subject.books.json)")
    }

    /// - Parameter count: the number of events, or zero to track until the process is killed.
    private mutating func track(_ count: Int, pause: UInt32) {
        let end = count == 0 ? Int.max : next + count
        while next < end {
            subject.track(event(next))
            acknowledge(next)
            next += 1
            if pause > 0 { System.pause(microseconds: pause) }
        }
    }

    private func event(_ number: Int) -> NumberedEvent {
        NumberedEvent(writer: settings.writer, number: number, maximumFiller: settings.filler)
    }

    private func acknowledge(_ number: Int) {
        if let refusal = store.takeRefusal() {
            recorder.record("r \(number) \(refusal.code.rawValue)")
        } else {
            recorder.record("a \(number) \(System.monotonicMicroseconds())")
        }
    }

    private func deliver(batches: Int?) async {
        if let batches {
            await subject.deliver(batches: batches)
        } else {
            await subject.deliver()
        }
    }

    private func synchronize() {
        do throws(SluiceError) {
            try store.synchronize()
        } catch {
            System.note("\(error)")
        }
    }

    /// The child uses the same store and ends. The parent waits for it, and continues. A pipeline drops the child's events.
    private mutating func fork(tracking count: Int) {
        let child = System.fork()
        if child == 0 {
            if let subject = subject as? PipelineSubject {
                for number in next..<next + count { subject.track(event(number)) }
                guard subject.pipeline.ledger.dropped == [.leftToParentProcess: count] else {
                    System.fail("the ledger in the child of a fork is \(subject.pipeline.ledger)")
                }
                System.leave()
            }
            track(count, pause: 0)
            recorder.record("= child \(subject.books.json)")
            store.close()
            System.leave()
        }
        System.wait(for: child)
        next += count
    }
}
