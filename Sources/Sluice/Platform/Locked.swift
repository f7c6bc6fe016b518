#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Bionic)
    import Bionic
#endif

/// One lock around one state.
///
/// It is `os_unfair_lock` on Apple's platforms and a pthread mutex elsewhere. `Synchronization.Mutex` would need
/// iOS 18, and was measured to be bimodal on Linux with 16 or more threads. The lock isn't recursive: don't call a host's
/// closure or another plugin from `withLock`.
// @unchecked: the state is reachable only through withLock, which holds the mutex.
// @usableFromInline: the compiler doesn't inline the methods of a package class into other modules without it.
@usableFromInline
package final class Locked<State>: @unchecked Sendable {
    #if canImport(Darwin)
        private typealias Primitive = os_unfair_lock
    #else
        private typealias Primitive = pthread_mutex_t
    #endif

    // A lock needs a stable address.
    private let primitive: UnsafeMutablePointer<Primitive>
    // Unchecked, because the lock makes every access exclusive.
    @usableFromInline @exclusivity(unchecked)
    var state: State

    package init(_ state: State) {
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
