import SluiceLibC

#if !canImport(Darwin)
    import Synchronization
#endif

#if canImport(Darwin)
    /// A mutex of the system.
    struct PlatformMutex: ~Copyable {
        // A pointer, because the mutex needs a stable address.
        private let primitive = UnsafeMutablePointer<os_unfair_lock>.allocate(capacity: 1)

        init() { primitive.initialize(to: os_unfair_lock()) }

        deinit { primitive.deallocate() }

        borrowing func lock() { os_unfair_lock_lock(primitive) }

        borrowing func tryLock() -> Bool { os_unfair_lock_trylock(primitive) }

        borrowing func unlock() { os_unfair_lock_unlock(primitive) }
    }
#else
    /// A mutex in one word. If no other thread wants it, locking and unlocking take one atomic instruction each.
    ///
    /// A waiting thread can't read whether a pthread mutex is free. It must try to lock it, and that takes the cache line away
    /// from the thread that holds the mutex. `Synchronization.Mutex` hands the lock to a sleeping thread, so each use waits for a
    /// thread to wake up if many want the lock. Docs/Decisions/49-lock.md compares them.
    struct PlatformMutex: ~Copyable {
        private static let free: UInt32 = 0
        private static let locked: UInt32 = 1
        /// Locked, and threads may sleep until it is free.
        private static let wanted: UInt32 = 2

        private let word = Atomic<UInt32>(PlatformMutex.free)
        /// Whether a waiting thread is spinning on the word.
        private let hasSpinningThread = Atomic<Bool>(false)
        // Sleeping threads use these two. Pointers, because they need stable addresses.
        private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

        init() {
            mutex.initialize(to: pthread_mutex_t())
            pthread_mutex_init(mutex, nil)
            condition.initialize(to: pthread_cond_t())
            pthread_cond_init(condition, nil)
        }

        // Both have no resources but their memory. In the child of a fork, pthread_cond_destroy would wait for threads of the
        // parent.
        deinit {
            condition.deallocate()
            mutex.deallocate()
        }

        @inline(__always)
        borrowing func lock() {
            if !tryLock() { lockAfterSpinning() }
        }

        @inline(__always)
        borrowing func tryLock() -> Bool {
            word.compareExchange(
                expected: PlatformMutex.free, desired: PlatformMutex.locked, successOrdering: .acquiring,
                failureOrdering: .relaxed
            ).exchanged
        }

        @inline(__always)
        borrowing func unlock() {
            if word.exchange(PlatformMutex.free, ordering: .releasing) == PlatformMutex.wanted { wakeOne() }
        }

        /// Spins on the word for 50 µs, then sleeps. A lock is usually held for less time than it takes to wake a thread, for
        /// example for one `write` or a new file. If another thread is already spinning, this thread sleeps immediately: a second
        /// spinning thread would only keep another core busy.
        // No sched_yield: if other processes want the core, a thread that yields can wait milliseconds to get it back.
        @inline(never)
        private borrowing func lockAfterSpinning() {
            if !hasSpinningThread.exchange(true, ordering: .relaxed) {
                defer { hasSpinningThread.store(false, ordering: .relaxed) }
                let end = PlatformMutex.now() + 50_000
                while PlatformMutex.now() < end {
                    if word.load(ordering: .relaxed) == PlatformMutex.free, tryLock() { return }
                }
            }
            lockAfterSleeping()
        }

        private borrowing func lockAfterSleeping() {
            pthread_mutex_lock(mutex)
            // A thread that was woken leaves `wanted` behind, because others may still sleep.
            while word.exchange(PlatformMutex.wanted, ordering: .acquiring) != PlatformMutex.free {
                pthread_cond_wait(condition, mutex)
            }
            pthread_mutex_unlock(mutex)
        }

        @inline(never)
        private borrowing func wakeOne() {
            // A thread that has set `wanted` keeps this mutex until it sleeps.
            pthread_mutex_lock(mutex)
            pthread_cond_signal(condition)
            pthread_mutex_unlock(mutex)
        }

        /// The monotonic time in nanoseconds. 64 bits on every platform.
        private static func now() -> Int64 {
            var time = timespec()
            clock_gettime(CLOCK_MONOTONIC, &time)
            return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
        }
    }
#endif
