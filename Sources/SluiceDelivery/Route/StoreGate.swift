/// Guards the use of a store. It can be closed at any time: new uses are refused, and the store is closed when the last
/// use has ended. Unlike a lock, it never makes the closing thread wait for a slow disk.
struct StoreGate: Sendable {
    private enum State: Sendable {
        case unopened, open
        /// The store must be closed when the last use has ended.
        case closing
        /// Like `closing`, but no caller waits for it.
        case abandoned
        case closed
    }

    private var state = State.unopened
    /// The threads that use the store. Closing it is a use, too.
    private var uses = 0

    var isOpen: Bool { state == .open }
    /// Whether ``close()`` was called.
    var isEnding: Bool { state != .unopened && state != .open }
    /// Whether there is nothing left to wait for.
    var isClosed: Bool { state == .closed || state == .abandoned }
    /// Whether a shutdown has ended while the store was still in use.
    var isAbandoned: Bool { state == .abandoned }

    mutating func open() { state = .open }

    /// - Returns: whether the store may be used. Call ``leave()`` after the use.
    mutating func enter() -> Bool {
        if isOpen { uses += 1 }
        return isOpen
    }

    mutating func leave() { uses -= 1 }

    /// Call this once.
    mutating func close() { state = isOpen ? .closing : .closed }

    /// Call this after ``close()``, while the store is still in use.
    mutating func abandon() { state = .abandoned }

    /// - Returns: whether the caller must close the store now, without a lock, and call ``didClose()``. True once.
    mutating func takeClosing() -> Bool {
        guard state == .closing || state == .abandoned, uses == 0 else { return false }
        uses += 1
        return true
    }

    mutating func didClose() { state = .closed }
}
