#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Bionic)
    import Bionic
#endif

/// One lock around one state: the only way in which this package shares mutable state between threads.
///
/// It is `os_unfair_lock` on Apple's platforms and a pthread mutex elsewhere. `Synchronization.Mutex` would need
/// iOS 18, and was measured to be bimodal on Linux with 16 or more threads.
///
/// The lock is not recursive: never call out to a plugin from inside ``withLock(_:)``.
// @unchecked: the state is reachable only through withLock, which holds the mutex.
package final class Locked<State>: @unchecked Sendable {
    #if canImport(Darwin)
        private typealias Primitive = os_unfair_lock
    #else
        private typealias Primitive = pthread_mutex_t
    #endif

    // A stable address: a lock that Swift may move is not a lock.
    private let primitive: UnsafeMutablePointer<Primitive>
    // Unchecked, because the lock is what makes every access exclusive: a second one would wait before it begins.
    @exclusivity(unchecked)
    private var state: State

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

    package func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        #if canImport(Darwin)
            os_unfair_lock_lock(primitive)
            defer { os_unfair_lock_unlock(primitive) }
        #else
            pthread_mutex_lock(primitive)
            defer { pthread_mutex_unlock(primitive) }
        #endif
        return try body(&state)
    }
}
