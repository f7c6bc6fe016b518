#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Bionic)
    import Bionic
#endif

/// One lock around one state: the way to share mutable state between threads, in this package and in plugins.
///
/// ```swift
/// final class Counter: Processor {
///     private let count = Locked(0)
///
///     func process(_ event: inout Event) -> Disposition {
///         count.withLock { $0 += 1 }
///         return .keep
///     }
/// }
/// ```
///
/// It is `os_unfair_lock` on Apple's platforms and a pthread mutex elsewhere. `Synchronization.Mutex` would need
/// iOS 18, and was measured to be bimodal on Linux with 16 or more threads.
///
/// The lock is not recursive: never call the host's code, or another plugin's, from inside `withLock`.
// @unchecked: the state is reachable only through withLock, which holds the mutex.
public final class Locked<State>: @unchecked Sendable {
    #if canImport(Darwin)
        private typealias Primitive = os_unfair_lock
    #else
        private typealias Primitive = pthread_mutex_t
    #endif

    // A stable address: a lock that Swift may move is not a lock.
    private let primitive: UnsafeMutablePointer<Primitive>
    // Unchecked, because the lock is what makes every access exclusive: a second one would wait before it begins.
    @usableFromInline @exclusivity(unchecked)
    var state: State

    public init(_ state: State) {
        self.state = state
        primitive = .allocate(capacity: 1)
        primitive.initialize(to: Primitive())
        #if !canImport(Darwin)
            pthread_mutex_init(primitive, nil)
        #endif
    }

    deinit {
        #if !canImport(Darwin)
            pthread_mutex_destroy(primitive)
        #endif
        primitive.deinitialize(count: 1)
        primitive.deallocate()
    }

    /// Runs `body` on the state, while no other thread can.
    ///
    /// - Throws: what `body` throws.
    // Compiled into its callers: a closure that the compiler cannot see into costs as much as the lock.
    @inlinable
    public func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body(&state)
    }

    @usableFromInline
    func lock() {
        #if canImport(Darwin)
            os_unfair_lock_lock(primitive)
        #else
            pthread_mutex_lock(primitive)
        #endif
    }

    @usableFromInline
    func unlock() {
        #if canImport(Darwin)
            os_unfair_lock_unlock(primitive)
        #else
            pthread_mutex_unlock(primitive)
        #endif
    }
}

extension Locked where State == Void {
    /// Runs `body` while no other thread is in one: a lock on what is no value, such as a file.
    ///
    /// - Throws: what `body` throws.
    // Without a look at the state: the thread sanitizer takes two accesses to no bytes for a race.
    @inlinable
    public func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
    }
}
