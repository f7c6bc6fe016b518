import SluiceTesting
import Testing

@Suite struct ProcessorContractTests {
    @Test("processors that keep or drop events pass the contract")
    func keepingAndDroppingProcessorsPass() async throws {
        try await ProcessorContract.check { Transform { _ in } }
        try await ProcessorContract.check { Filter { _ in false } }
    }

    @Test("every broken promise is found, and none hangs the check", arguments: BrokenProcessor.Defect.allCases)
    func everyBrokenPromiseIsFound(defect: BrokenProcessor.Defect) async throws {
        let error = await Hang.run { hang in try await ProcessorContract.check { BrokenProcessor(defect, hang) } }
        #expect(error?.code == .brokenContract)
        #expect(error?.message.contains(defect.rawValue) == true, "\(String(describing: error))")
    }
}

/// Breaks one promise.
final class BrokenProcessor: Processor {
    /// A defect, and a part of the sentence.
    enum Defect: String, CaseIterable {
        case dropsWithoutName = "a reason for dropping an event must have a name"
        case dropsHeldWithoutName = "for dropping an event must have a name"
        case repeatsID = "was stored twice"
        case changesIDs = "a processor must leave each event its id"
        case removesNames = "a processor must leave each event a name"
        case tracksOnce = "a processor must not call track in process"
        case tracksAlways = "must not call track in process"
        case holdsForever = "held events never end"
        case holdsOne = "1 held events never end"
        case blocks = "a processor must return from process, update and emit"
        case blocksOnSignal = "must return from process, update and emit"
        case neverFinishes = "a processor must return from finish"
        case neverForgets = "a processor must return from forget"
        case holdsBeyondErasure = "still held after eraseEverything"
        case holdsSomeBeyondErasure = "events are still held after eraseEverything"
    }

    let context = PluginContext()
    private let defect: Defect
    private let hang: Hang
    private let held = Locked<[Event]>([])
    private let passed = Locked(0)

    init(_ defect: Defect, _ hang: Hang) {
        self.defect = defect
        self.hang = hang
    }

    func process(_ event: inout Event) -> Disposition {
        let copy = event
        switch defect {
        case .dropsWithoutName: return .drop(DropReason(rawValue: ""))
        case .dropsHeldWithoutName, .holdsBeyondErasure:
            held.withLock { $0.append(copy) }
            return context.hold(copy)
        case .repeatsID: event = Event(id: EventID(high: 0, low: 0), name: "Same", time: event.time)
        case .changesIDs: event = Event(id: .make(at: event.time), name: "Other", time: event.time)
        case .removesNames: event.name = ""
        case .tracksOnce: if event.name == "Plain" { context.track("Extra") }
        case .tracksAlways: context.track("Extra")
        case .holdsForever: return context.hold(copy)
        case .holdsOne: if event.name == "Deep", event.priority == .normal { return context.hold(copy) }
        case .holdsSomeBeyondErasure:
            let isHeld = passed.withLock { passed in
                passed += 1
                return passed.isMultiple(of: 20)
            }
            guard isHeld else { return .keep }
            held.withLock { $0.append(copy) }
            return context.hold(copy)
        case .blocks: hang.wait()
        case .blocksOnSignal, .neverFinishes, .neverForgets: break
        }
        return .keep
    }

    func update(for signal: Signal) { if defect == .blocksOnSignal { hang.wait() } }

    func finish() async {
        let reason = DropReason(rawValue: defect == .dropsHeldWithoutName ? "" : "late")
        for event in held.withLock(\.self) { context.drop(event, because: reason) }
        if defect == .neverFinishes { hang.wait() }
    }

    func forget() { if defect == .neverForgets { hang.wait() } }
}
