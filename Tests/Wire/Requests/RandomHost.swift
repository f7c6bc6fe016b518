import Sluice
import SluiceDuration
import SluiceIdentity
import SluiceTesting

/// A host that uses every verb at random, in a pipeline with `Identity` and `Screens` and in one without them.
struct RandomHost {
    private let identity = Identity(persistedIn: .memory)
    private let screens = Screens()
    private let recorder = Recorder()
    private let device: Pipeline
    private let server: Pipeline
    private let time: VirtualTime
    private let random: Locked<RandomValues>
    private let lastBatch = Locked<Batch.ID>(0)

    init(seed: UInt64, time: VirtualTime) throws {
        self.time = time
        random = Locked(RandomValues(seed: seed))
        let environment = PipelineEnvironment.virtual(time, seed: seed)
        device = try Pipeline(environment: environment) { [identity, screens, recorder] in
            identity
            screens
            RecorderStage(recorder: recorder)
            RecorderStore(recorder: recorder)
            ScriptedTransport()
        }
        server = try Pipeline(environment: environment) { [recorder] in
            RecorderStage(recorder: recorder)
            RecorderStore(recorder: recorder)
            ScriptedTransport()
        }
    }

    /// Acts until there are enough events.
    func nextBatch(_ size: BatchSize, within limit: BatchSize) -> RecordedBatch {
        let most = BatchSize(events: min(size.events, limit.events), bytes: min(size.bytes, limit.bytes))
        var events: [StoredEvent] = []
        var bytes = 0
        while events.count < most.events, bytes < most.bytes {
            guard let event = recorder.takeFirst() else {
                act()
                continue
            }
            bytes += event.line.bytes.count
            events.append(event)
        }
        let id = lastBatch.withLock { last in
            last += 1
            return last
        }
        return RecordedBatch(id: id, events: events)
    }

    private func act() {
        random.withLock { random in
            time.advance(by: .milliseconds(random.int(in: 0...5_000)))
            do throws(SluiceError) {
                try act(&random)
            } catch {
                // The generator only makes valid arguments.
                fail("\(error)")
            }
        }
    }

    private func act(_ random: inout RandomValues) throws(SluiceError) {
        switch random.int(in: 0...99) {
        case 0..<30: device.track(random.name(), random.properties())
        case 30..<42: trackWithIDs(&random)
        case 42..<46: device.track(random.verbName(), random.properties())
        case 46..<50: try identity.login(random.id(), .init(random.properties(depth: 2)))
        case 50..<54: try identity.logout()
        case 54..<58: try identity.reset()
        case 58..<60: try identity.setAnonymousID(random.id())
        case 60..<64: try identity.alias(random.id())
        case 64..<66: try identity.bind(random.groupType(), to: random.id())
        case 66..<67: try identity.unbind(random.groupType())
        case 67..<71: try identity.join(group: random.id(), ofType: random.groupType(), .init(random.properties()))
        case 71..<73: try identity.leave(random.groupType())
        case 73..<77: identity.profile.set(.init(random.properties()))
        case 77..<80: identity.profile.setOnce(.init(random.properties()))
        case 80..<83: try identity.profile.increment(.init(random.amounts()))
        case 83..<86: identity.profile.append(.init(random.properties()))
        case 86..<89: identity.profile.unset(random.propertyName(), random.propertyName())
        case 89..<90: identity.profile.delete()
        case 90..<92: try identity.setItem(random.groupType(), random.id(), .init(random.properties()))
        case 92..<93: try identity.deleteItem(random.groupType(), random.id())
        case 93..<95: screens.show(random.name(), .init(random.properties()))
        case 95..<97: device.track(random.revenue())
        default: device.track(random.name(), random.automaticProperties())
        }
    }

    /// Events of a server, which have any of the three ids, or none, and any time.
    private func trackWithIDs(_ random: inout RandomValues) {
        let kind = random.int(in: 0...6)
        let (person, anonymous) = (random.id(), random.id())
        let moment = random.eventTime(near: time.wallTime())
        let priority: Event.Priority = random.int(in: 0...9) == 0 ? .critical : .normal
        server.track(random.name(), random.properties(), priority: priority) { event in
            event.time = moment
            switch kind {
            case 0: break
            case 1, 2: event.distinctID = person
            case 3: event.loginID = person
            case 4: event.anonymousID = anonymous
            case 5: (event.distinctID, event.anonymousID, event.loginID) = (person, anonymous, person)
            default: (event.distinctID, event.anonymousID) = (anonymous, anonymous)
            }
        }
    }
}

/// Keeps the events and their lines, in order.
final class Recorder: Sendable {
    private struct State {
        var passed: [Event] = []
        var stored: [StoredEvent] = []
        var next = 0
    }

    private let state = Locked(State())

    func pass(_ event: Event) { state.withLock { $0.passed.append(event) } }

    func store(_ line: EventLine) {
        state.withLock { state in
            state.stored += state.passed.map { StoredEvent(event: $0, line: line) }
            state.passed = []
        }
    }

    func takeFirst() -> StoredEvent? {
        state.withLock { state in
            guard state.next < state.stored.count else {
                state.stored = []
                state.next = 0
                return nil
            }
            state.next += 1
            return state.stored[state.next - 1]
        }
    }
}

/// Hands every event to the recorder.
struct RecorderStage: Processor {
    let recorder: Recorder

    func process(_ event: inout Event) -> Disposition {
        recorder.pass(event)
        return .keep
    }
}

/// Hands every line to the recorder, and no line to the transport.
struct RecorderStore: Store {
    let recorder: Recorder

    func append(_ line: EventLine) { recorder.store(line) }
    func nextBatch(_ size: BatchSize) -> Batch? { nil }
    func settle(_ batch: Batch.ID) {}
    var backlog: Backlog { Backlog(events: 0, bytes: 0) }
}
