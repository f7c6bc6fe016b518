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
    }

    // A mutex needs a stable address.
    private let node: UnsafeMutablePointer<Node>

    private var primitive: UnsafeMutablePointer<Primitive> {
        // The first property of a struct has its address.
        UnsafeMutableRawPointer(node).assumingMemoryBound(to: Primitive.self)
    }

    init() {
        node = ProcessMutex.makeNode()
        let first = ProcessMutex.first
        first.lock()
        node.pointee.previous = first.node
        node.pointee.next = first.node.pointee.next
        first.node.pointee.next?.pointee.previous = node
        first.node.pointee.next = node
        first.unlock()
    }

    private init(_ node: UnsafeMutablePointer<Node>) {
        self.node = node
    }

    /// Frees the mutex. Don't use it afterwards.
    func destroy() {
        ProcessMutex.first.lock()
        node.pointee.previous?.pointee.next = node.pointee.next
        node.pointee.next?.pointee.previous = node.pointee.previous
        ProcessMutex.first.unlock()
        #if !canImport(Darwin)
            pthread_mutex_destroy(primitive)
        #endif
        node.deinitialize(count: 1)
        node.deallocate()
    }

    func lock() {
        #if canImport(Darwin)
            os_unfair_lock_lock(primitive)
        #else
            pthread_mutex_lock(primitive)
        #endif
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

    // MARK: Forking

    /// Guards the list, and is its first element.
    // nonisolated(unsafe): a pointer isn't Sendable. The mutex guards the list that begins there.
    nonisolated(unsafe) private static let first: ProcessMutex = {
        pthread_atfork(
            { ProcessMutex.lockAll() }, { ProcessMutex.unlockAll() },
            {
                ProcessMutex.unlockAll(inChild: true)
                CurrentProcess.resetAfterFork()
            })
        return ProcessMutex(makeNode())
    }()

    /// Other threads lock several mutexes in an order that this thread doesn't know. Therefore it waits for none of them
    /// while it holds others.
    private static func lockAll() {
        while !tryLockAll() { sched_yield() }
    }

    private static func tryLockAll() -> Bool {
        var next: UnsafeMutablePointer<Node>? = first.node
        while let node = next {
            guard ProcessMutex(node).tryLock() else {
                unlockAll(before: node)
                return false
            }
            next = node.pointee.next
        }
        return true
    }

    /// Unlocks the mutexes before `end`.
    private static func unlockAll(before end: UnsafeMutablePointer<Node>? = nil, inChild: Bool = false) {
        guard end != first.node else { return }
        var next = first.node.pointee.next
        while let node = next, node != end {
            next = node.pointee.next
            ProcessMutex(node).unlock(inChild: inChild)
        }
        // The last, because it guards the links.
        first.unlock(inChild: inChild)
    }

    private func unlock(inChild: Bool) {
        #if canImport(Darwin)
            // The thread of the child isn't the one that locked it, and is not allowed to unlock it.
            if inChild { return primitive.pointee = Primitive() }
        #endif
        unlock()
    }
}
