// @unchecked: the state is reachable only through withLock, which holds the mutex. Outside of the package, only a Sendable state
// is, so that no reference to a part of it leaves the lock.
/// One lock around one state, for plugins that keep something between events.
///
/// ```swift
/// final class Numbering: Processor {
///     private let count = Locked(0)
///
///     func process(_ event: inout Event) -> Disposition {
///         event.properties["number"] = count.withLock { count in
///             count += 1
///             return count
///         }
///         return .keep
///     }
/// }
/// ```
///
/// Put all that changes together into one struct, and one lock around it. You can call it from any thread. The lock isn't
/// recursive: a call of `withLock` within `withLock` of the same object waits forever. So don't call a closure of the host, the
/// pipeline or another plugin from it.
///
/// It is `os_unfair_lock` on Apple's platforms and one atomic word elsewhere, and needs no Foundation. Where your deployment
/// targets have `Synchronization.Mutex`, that works as well.
public final class Locked<State>: @unchecked Sendable {
    private let mutex = PlatformMutex()
    // Unchecked, because the lock makes every access exclusive.
    @usableFromInline @exclusivity(unchecked)
    var state: State

    /// Creates a lock around a state.
    public init(_ state: State) {
        self.state = state
    }

    /// Runs `body` with exclusive access to a state that may have references.
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

extension Locked where State: Sendable {
    // Inlined into callers, because calling an opaque closure costs as much as the lock.
    /// Runs `body` with exclusive access to the state.
    ///
    /// ```swift
    /// let names = Locked<Set<String>>([])
    /// let isNew = names.withLock { $0.insert("Purchase").inserted }
    /// ```
    ///
    /// - Parameter body: Reads or changes the state. Return quickly, because other threads wait.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`.
    @inlinable
    public func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body(&state)
    }
}

extension Locked where State: FixedWidthInteger & Sendable {
    /// Counts up, and returns the new number.
    package func next() -> State {
        withLock { number in
            number += 1
            return number
        }
    }
}
