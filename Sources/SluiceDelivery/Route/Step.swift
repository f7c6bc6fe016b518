/// The next step of a worker.
enum Step: Sendable {
    /// Take a batch of this size. The worker is at the gate.
    case take(BatchSize)
    case send(Part)
    /// Wait until ``Waiters/inputs`` has another value.
    case wait(inputs: Int)
    case stop
}

/// An answer with its actions for the store.
struct Settlement: Sendable {
    let part: Part
    let answer: Answer
    let actions: [DeliveryRule.Action]

    /// The events that become dead letters.
    var rejected: Int { actions.reduce(0) { if case .reject(let events, _) = $1 { $0 + events.count } else { $0 } } }
    /// Events with a final verdict.
    var resolved: Int { answer.accepted.count + rejected }
}

extension Array {
    /// Returns all elements, and removes them.
    mutating func takeAll() -> Self {
        defer { self = [] }
        return self
    }
}
