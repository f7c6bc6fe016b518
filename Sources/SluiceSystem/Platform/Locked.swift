/// One lock around one state.
///
/// It is `os_unfair_lock` on Apple's platforms and one atomic word elsewhere, see ``PlatformMutex``. The lock isn't recursive:
/// don't call a host's closure or another plugin from `withLock`.
// @unchecked: the state is reachable only through withLock, which holds the mutex.
// @usableFromInline: the compiler doesn't inline the methods of a package class into other modules without it.
@usableFromInline
package final class Locked<State>: @unchecked Sendable {
    private let mutex = PlatformMutex()
    // Unchecked, because the lock makes every access exclusive.
    @usableFromInline @exclusivity(unchecked)
    var state: State

    package init(_ state: State) {
        self.state = state
    }

    /// Runs `body` with exclusive access to the state.
    // Inlined into callers, because calling an opaque closure costs as much as the lock.
    @inlinable
    package func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body(&state)
    }

    /// Runs `body` with exclusive access to the state, unless another thread has it: then it returns nil without waiting.
    @inlinable
    package func withLockIfFree<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard tryLock() else { return nil }
        defer { unlock() }
        return try body(&state)
    }

    @usableFromInline
    func lock() { mutex.lock() }

    @usableFromInline
    func tryLock() -> Bool { mutex.tryLock() }

    @usableFromInline
    func unlock() { mutex.unlock() }
}
