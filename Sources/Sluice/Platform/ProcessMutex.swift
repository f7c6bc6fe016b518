#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Bionic)
    import Bionic
#endif

/// A mutex that the child of a `fork` can use, whatever the other threads of the parent were doing.
///
/// The thread that forks holds all mutexes meanwhile. Otherwise the child would have copies of states that another thread
/// was changing, and would wait for mutexes that no thread of the child ever unlocks.
struct ProcessMutex {
    #if canImport(Darwin)
        private typealias Primitive = os_unfair_lock
    #else
        private typealias Primitive = pthread_mutex_t
    #endif

    /// An element of the list of all mutexes.
    private struct Node {
        var primitive = Primitive()
        var previous: UnsafeMutablePointer<Node>?
        var next: UnsafeMutablePointer<Node>?
        /// Whether nobody uses the mutex any more. It is freed after the fork.
        var isDestroyed = false
        /// Only the thread that forks reads and writes this.
        var isHeldByFork = false
    }

    private struct List {
        var first: UnsafeMutablePointer<Node>?
        /// Meanwhile no element is removed, so that the thread that forks can follow the links without a lock.
        var isForking = false
    }

    // A mutex needs a stable address.
    private let node: UnsafeMutablePointer<Node>

    private var primitive: UnsafeMutablePointer<Primitive> {
        // The first property of a struct has its address.
        UnsafeMutableRawPointer(node).assumingMemoryBound(to: Primitive.self)
    }

    init() {
        node = ProcessMutex.makeNode()
        ProcessMutex.guardian.lock()
        ProcessMutex.insert(node)
        ProcessMutex.guardian.unlock()
    }

    private init(_ node: UnsafeMutablePointer<Node>) {
        self.node = node
    }

    /// Frees the mutex, which must be unlocked. Don't use it afterwards.
    func destroy() {
        ProcessMutex.guardian.lock()
        node.pointee.isDestroyed = true
        let isForking = ProcessMutex.list.isForking
        if !isForking { ProcessMutex.remove(node) }
        ProcessMutex.guardian.unlock()
        if !isForking { ProcessMutex.free(node) }
    }

    func lock() {
        #if canImport(Darwin)
            os_unfair_lock_lock(primitive)
        #else
            if !tryLock() { lockAfterSpinning() }
        #endif
    }

    #if !canImport(Darwin)
        /// Tries for 50 µs, then sleeps. Most uses of a lock, such as one `write` or a new file, are shorter than it takes to
        /// wake a thread: when waiting threads slept immediately, two were a quarter slower together than one alone.
        @inline(never)
        private func lockAfterSpinning() {
            let start = ProcessMutex.nanoseconds()
            var waited: Int64 = 0
            while waited < 50_000 {
                if tryLock() { return }
                // With more threads than cores, the one that holds the lock may wait for a core.
                if waited > 10_000 { sched_yield() }
                // Reading the clock leaves the lock alone for a moment.
                waited = ProcessMutex.nanoseconds() - start
            }
            pthread_mutex_lock(primitive)
        }
    #endif

    /// The monotonic time. 64 bits on every platform.
    private static func nanoseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    func unlock() {
        #if canImport(Darwin)
            os_unfair_lock_unlock(primitive)
        #else
            pthread_mutex_unlock(primitive)
        #endif
    }

    func tryLock() -> Bool {
        #if canImport(Darwin)
            os_unfair_lock_trylock(primitive)
        #else
            pthread_mutex_trylock(primitive) == 0
        #endif
    }

    private static func makeNode() -> UnsafeMutablePointer<Node> {
        let node = UnsafeMutablePointer<Node>.allocate(capacity: 1)
        node.initialize(to: Node())
        #if !canImport(Darwin)
            pthread_mutex_init(ProcessMutex(node).primitive, nil)
        #endif
        return node
    }

    private static func free(_ node: UnsafeMutablePointer<Node>) {
        #if !canImport(Darwin)
            pthread_mutex_destroy(ProcessMutex(node).primitive)
        #endif
        node.deinitialize(count: 1)
        node.deallocate()
    }

    private static func insert(_ node: UnsafeMutablePointer<Node>) {
        node.pointee.previous = nil
        node.pointee.next = list.first
        list.first?.pointee.previous = node
        list.first = node
    }

    private static func remove(_ node: UnsafeMutablePointer<Node>) {
        if let previous = node.pointee.previous {
            previous.pointee.next = node.pointee.next
        } else {
            list.first = node.pointee.next
        }
        node.pointee.next?.pointee.previous = node.pointee.previous
    }

    // MARK: Forking

    // nonisolated(unsafe): the guardian protects it.
    nonisolated(unsafe) private static var list = List()

    /// Protects the list, and is not in it. A thread that holds it waits for no other mutex.
    // nonisolated(unsafe): a pointer isn't Sendable, and this one is to a mutex.
    nonisolated(unsafe) private static let guardian: ProcessMutex = {
        #if canImport(Glibc)
            _ = lockUntil  // Not during a fork.
        #endif
        pthread_atfork(
            { ProcessMutex.lockAll() }, { ProcessMutex.unlockAll() },
            {
                ProcessMutex.unlockAll(inChild: true)
                CurrentProcess.resetAfterFork()
            })
        return ProcessMutex(makeNode())
    }()

    /// Lets one thread fork at a time.
    // nonisolated(unsafe): a pointer isn't Sendable, and this one is to a mutex.
    nonisolated(unsafe) private static let fork = ProcessMutex(makeNode())

    /// Locks all mutexes in the order of the list.
    ///
    /// A thread that holds one of them may wait for another one that this thread holds already. Then this thread unlocks all,
    /// moves the mutex that was missing to the front, and begins again. So the list gets the order in which the threads
    /// lock. A mutex can also be missing because its thread writes to a slow drive, so the patience grows.
    private static func lockAll() {
        fork.lock()
        var patience = 1
        while let missing = lockList(patience) {
            guardian.lock()
            remove(missing)
            insert(missing)
            guardian.unlock()
            unlockList()
            patience = min(2 * patience, 4_096)
        }
    }

    /// Locks all mutexes and the guardian, or returns one that wasn't free for `patience` milliseconds. Without the
    /// guardian, other threads could create mutexes.
    private static func lockList(_ patience: Int) -> UnsafeMutablePointer<Node>? {
        var newest: UnsafeMutablePointer<Node>?
        while true {
            guardian.lock()
            list.isForking = true
            let first = list.first
            if first == newest { return nil }
            guardian.unlock()
            var next = first
            while let node = next, node != newest {
                guard ProcessMutex(node).lock(within: patience) else { return node }
                node.pointee.isHeldByFork = true
                next = node.pointee.next
            }
            newest = first
        }
    }

    /// - Returns: whether the mutex is locked.
    private func lock(within milliseconds: Int) -> Bool {
        if tryLock() { return true }
        let end = ProcessMutex.nanoseconds() + Int64(milliseconds) * 1_000_000
        #if canImport(Glibc)
            // In the queue of the mutex, a thread isn't passed over as often as one that tries again and again.
            if let lock = ProcessMutex.lockUntil {
                var time = timespec(tv_sec: .init(end / 1_000_000_000), tv_nsec: .init(end % 1_000_000_000))
                return lock(primitive, CLOCK_MONOTONIC, &time) == 0
            }
        #endif
        while ProcessMutex.nanoseconds() < end {
            if tryLock() { return true }
            sched_yield()
        }
        return false
    }

    #if canImport(Glibc)
        private typealias LockUntil =
            @convention(c) (UnsafeMutablePointer<Primitive>, clockid_t, UnsafePointer<timespec>) -> CInt

        /// Nil before glibc 2.30. `pthread_mutex_timedlock` could wait without end if the wall clock is set back.
        private static let lockUntil = dlsym(nil, "pthread_mutex_clocklock").map {
            unsafeBitCast($0, to: LockUntil.self)
        }
    #endif

    private static func unlockAll(inChild: Bool = false) {
        guardian.unlock(inChild: inChild)
        unlockList(inChild: inChild)
        fork.unlock(inChild: inChild)
    }

    /// Unlocks the mutexes that this thread holds, and frees those that nobody uses any more.
    private static func unlockList(inChild: Bool = false) {
        guardian.lock()
        var next = list.first
        while let node = next {
            next = node.pointee.next
            if node.pointee.isHeldByFork {
                node.pointee.isHeldByFork = false
                ProcessMutex(node).unlock(inChild: inChild)
            }
            if node.pointee.isDestroyed {
                remove(node)
                free(node)
            }
        }
        list.isForking = false
        guardian.unlock()
    }

    private func unlock(inChild: Bool) {
        #if canImport(Darwin)
            // The thread of the child isn't the one that locked it, and is not allowed to unlock it.
            if inChild { return primitive.pointee = Primitive() }
        #endif
        unlock()
    }
}
