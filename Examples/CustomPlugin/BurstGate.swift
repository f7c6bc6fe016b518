import Sluice

/// Holds events back while the host is busy, and marks where they continue.
///
/// A processor with state of its own, which holds, forwards and inserts events. They continue below its line, in the chain
/// that it stands in.
final class BurstGate: Processor {
    /// All that changes, in one struct behind one lock.
    private struct State {
        var isClosed = false
        var waiting: [Event] = []

        mutating func takeWaiting() -> [Event] {
            defer { waiting = [] }
            return waiting
        }
    }

    let context = PluginContext()
    private let state = Locked(State())

    static let capacity = 1_000

    func process(_ event: inout Event) -> Disposition {
        let copy = event
        return state.withLock { state in
            guard state.isClosed else { return .keep }
            guard state.waiting.count < BurstGate.capacity else { return .drop(.burst) }
            state.waiting.append(copy)
            return context.hold(copy)
        }
    }

    func close() {
        state.withLock { $0.isClosed = true }
    }

    /// Call the context without the lock: events come back through this plugin when they are tracked.
    func open() {
        let events = state.withLock { state in
            state.isClosed = false
            return state.takeWaiting()
        }
        guard let first = events.first else { return }
        // The new event gets an id of its own, and passes only the stages below, like the events behind it.
        context.insert("GateOpened", ["waiting": events.count], before: first)
        for event in events { context.forward(event) }
    }

    /// The user's data must be removed: the held events end here.
    func forget() {
        for event in state.withLock({ $0.takeWaiting() }) { context.drop(event, because: .deleted) }
    }

    func update(for signal: Signal) {
        if signal == .didEnterBackground { close() }
    }

    func emit(for signal: Signal) {
        if signal == .didBecomeActive { open() }
    }
}

extension DropReason {
    /// More events came than a `BurstGate` holds.
    nonisolated static let burst = DropReason(rawValue: "burst")
}
