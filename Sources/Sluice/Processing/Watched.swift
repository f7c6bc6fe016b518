/// A value behind a lock, and the tasks that wait until it is as they want.
package final class Watched<Value: Sendable>: Sendable {
    private typealias Watcher = (
        isSatisfied: @Sendable (Value) -> Bool, continuation: CheckedContinuation<Void, Never>
    )

    private let state: Locked<(value: Value, watchers: [Watcher])>

    package init(_ value: Value) {
        state = Locked((value, []))
    }

    package func read<Result>(_ body: (Value) -> Result) -> Result { state.withLock { body($0.value) } }

    /// Changes the value, and wakes the tasks that have waited for this.
    @discardableResult
    package func update<Result>(_ body: (inout Value) -> Result) -> Result {
        let (result, satisfied) = state.withLock { state in
            let result = body(&state.value)
            let value = state.value
            defer { state.watchers.removeAll { $0.isSatisfied(value) } }
            return (result, state.watchers.filter { $0.isSatisfied(value) })
        }
        for watcher in satisfied { watcher.continuation.resume() }
        return result
    }

    package func wait(until isSatisfied: @escaping @Sendable (Value) -> Bool) async {
        await withCheckedContinuation { continuation in
            state.withLock { $0.watchers.append((isSatisfied, continuation)) }
            // It may be satisfied already.
            update { _ in }
        }
    }
}
