/// Guards the use of a store. It can be closed at any time: new uses are refused, and the store is closed when the last
/// use has ended. Unlike a lock, it never makes the closing thread wait for a slow disk.
struct StoreGate: Sendable {
    enum State: Sendable {
        case unopened, open
        /// The store must be closed when the last use has ended.
        case closing
        case closed
    }

    private(set) var state = State.unopened
    private var uses = 0

    var isIdle: Bool { uses == 0 }

    mutating func open() { state = .open }

    /// - Returns: whether the store may be used. Call ``leave()`` after the use.
    mutating func enter() -> Bool {
        guard state == .open else { return false }
        uses += 1
        return true
    }

    /// - Returns: whether the caller must close the store now, without a lock.
    mutating func leave() -> Bool {
        uses -= 1
        return isIdle && state == .closing
    }

    /// - Returns: whether the caller must close the store now, without a lock.
    mutating func close() -> Bool {
        switch state {
        case .unopened: state = .closed
        case .open: state = .closing
        case .closing, .closed: return false
        }
        return isIdle && state == .closing
    }

    mutating func didClose() { state = .closed }
}
