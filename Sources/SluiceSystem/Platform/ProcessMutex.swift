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
    /// An element of the list of all mutexes.
    private struct Node: ~Copyable {
        let mutex = PlatformMutex()
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

    @inline(__always)
    func lock() { node.pointee.mutex.lock() }

    @inline(__always)
    func unlock() { node.pointee.mutex.unlock() }

    @inline(__always)
    func tryLock() -> Bool { node.pointee.mutex.tryLock() }

    private static func makeNode() -> UnsafeMutablePointer<Node> {
        let node = UnsafeMutablePointer<Node>.allocate(capacity: 1)
        node.initialize(to: Node())
        return node
    }

    private static func free(_ node: UnsafeMutablePointer<Node>) {
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
        var patience: Int64 = 1
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
    private static func lockList(_ patience: Int64) -> UnsafeMutablePointer<Node>? {
        var newest: UnsafeMutablePointer<Node>?
        while true {
            guardian.lock()
            list.isForking = true
            let first = list.first
            if first == newest { return nil }
            guardian.unlock()
            var next = first
            while let node = next, node != newest {
                let end = PlatformMutex.now() + patience * 1_000_000
                guard node.pointee.mutex.tryLock() || node.pointee.mutex.lock(until: end) else { return node }
                node.pointee.isHeldByFork = true
                next = node.pointee.next
            }
            newest = first
        }
    }

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
        if inChild { node.pointee.mutex.resetInChild() } else { unlock() }
    }
}
