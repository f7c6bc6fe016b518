import Foundation
import Sluice

/// Holds events back while the host is busy, and marks where they continue.
///
/// A processor with state of its own, which holds, forwards and inserts events. They continue below its line, in the chain
/// that it stands in.
final class BurstGate: Processor {
    let context = PluginContext()

    // A plugin brings its own lock, here Foundation's.
    private let lock = NSLock()
    nonisolated(unsafe) private var isClosed = false
    nonisolated(unsafe) private var waiting: [Event] = []

    static let capacity = 1_000

    func process(_ event: inout Event) -> Disposition {
        let copy = event
        return lock.withLock {
            guard isClosed else { return .keep }
            guard waiting.count < BurstGate.capacity else { return .drop(.burst) }
            waiting.append(copy)
            return context.hold(copy)
        }
    }

    func close() {
        lock.withLock { isClosed = true }
    }

    /// Call the context without the lock: events come back through this plugin when they are tracked.
    func open() {
        let events = lock.withLock {
            isClosed = false
            defer { waiting = [] }
            return waiting
        }
        guard let first = events.first else { return }
        // The new event gets an id of its own, and passes only the stages below, like the events behind it.
        context.insert("GateOpened", ["waiting": events.count], before: first)
        for event in events { context.forward(event) }
    }

    /// The user's data must be removed: the held events end here.
    func forget() {
        let events = lock.withLock {
            defer { waiting = [] }
            return waiting
        }
        for event in events { context.drop(event, because: .deleted) }
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
    static let burst = DropReason(rawValue: "burst")
}
