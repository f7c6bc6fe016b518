/// Guards the use of a store. It can be closed at any time: new uses are refused, and the store is closed when the last
/// use has ended. Unlike a lock, it never makes the closing thread wait for a slow disk.
struct StoreGate: Sendable {
    private enum State: Sendable {
        case unopened, open
        /// The store must be closed when the last use has ended.
        case closing
        /// Like `closing`, but nobody waits for it any more.
        case abandoned
        case closed
    }

    private var state = State.unopened
    private var uses = 0

    var isOpen: Bool { state == .open }
    /// Whether nothing more has to be awaited.
    var isClosed: Bool { state == .closed || state == .abandoned }
    /// Whether a shutdown has ended while the store was still in use.
    var isAbandoned: Bool { state == .abandoned }

    mutating func open() { state = .open }

    /// - Returns: whether the store may be used. Call ``leave()`` after the use.
    mutating func enter() -> Bool {
        guard isOpen else { return false }
        uses += 1
        return true
    }

    /// - Returns: whether the caller must close the store now, without a lock.
    mutating func leave() -> Bool {
        uses -= 1
        return mustClose
    }

    /// - Returns: whether the caller must close the store now, without a lock.
    mutating func close() -> Bool {
        switch state {
        case .unopened: state = .closed
        case .open: state = .closing
        case .closing, .abandoned, .closed: return false
        }
        return mustClose
    }

    /// - Returns: whether the store is still in use after ``close()``.
    mutating func abandon() -> Bool {
        guard state == .closing else { return false }
        state = .abandoned
        return true
    }

    mutating func didClose() { state = .closed }

    private var mustClose: Bool { uses == 0 && (state == .closing || state == .abandoned) }
}
