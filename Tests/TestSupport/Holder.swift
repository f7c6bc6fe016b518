package import Sluice

/// Holds events until the test forwards or drops them.
package final class Holder: Processor {
    package let context = PluginContext()
    private let name: String?
    private let cause: String?
    /// Nil while it is open.
    private let held = Locked<[Event]?>([])

    /// - Parameters:
    ///   - name: The name of the events that it holds; nil for all.
    ///   - cause: It inserts an event called `Inserted` before each event of this name.
    package init(_ name: String? = nil, insertingBefore cause: String? = nil) {
        (self.name, self.cause) = (name, cause)
    }

    package func process(_ event: inout Event) -> Disposition {
        if event.name == cause { context.insert("Inserted", before: event) }
        guard name == nil || event.name == name else { return .keep }
        let copy = event
        return held.withLock { held in
            guard held != nil else { return .keep }
            held?.append(copy)
            return context.hold(copy)
        }
    }

    /// Returns the events that it holds. The test ends them.
    package func take() -> [Event] {
        held.withLock { held in
            defer { if held != nil { held = [] } }
            return held ?? []
        }
    }

    /// Forwards the events that it holds.
    package func release() { for event in take() { context.forward(event) } }

    /// Forwards the events that it holds, and lets later ones pass until ``close()``.
    package func open() {
        let events = held.withLock { held in
            defer { held = nil }
            return held ?? []
        }
        for event in events { context.forward(event) }
    }

    /// Holds events again.
    package func close() { held.withLock { $0 = $0 ?? [] } }
}
