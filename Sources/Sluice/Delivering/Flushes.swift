/// The calls of `flush()` that wait for their end.
struct Flushes {
    private struct Call {
        /// Done when so many events were delivered or rejected in all.
        let target: Int
        let continuation: CheckedContinuation<Void, Never>
    }

    private var calls: [Call] = []

    mutating func append(target: Int, _ continuation: CheckedContinuation<Void, Never>) {
        calls.append(Call(target: target, continuation: continuation))
    }

    /// Those who have reached their target. They are to be resumed without a lock.
    mutating func take(resolved: Int) -> [CheckedContinuation<Void, Never>] {
        defer { calls.removeAll { $0.target <= resolved } }
        return calls.filter { $0.target <= resolved }.map(\.continuation)
    }

    /// All: to wait on would be in vain.
    mutating func takeAll() -> [CheckedContinuation<Void, Never>] { take(resolved: .max) }
}
