package import SluiceEvents

/// Lets one thread at a time read and write the places of a state.
///
/// This isn't a lock: a place can be a host's closure, which must not be called with a lock held. A closure that uses its
/// own plugin gets an error instead of waiting for itself.
package final class Turn: Sendable {
    /// The thread whose turn it is.
    private let owner = Locked<UInt?>(nil)

    package init() {}

    /// Waits for the turn, and runs `body`.
    ///
    /// - Throws: The errors of `body`, and ``SluiceError/Code/invalidArgument`` if this thread has the turn already.
    package func take<Result>(_ body: () throws(SluiceError) -> Result) throws(SluiceError) -> Result {
        while true {
            if let result = try takeIfFree(body) { return result }
            try SluiceError.require(
                owner.withLock(\.self) != currentThread,
                "a closure of a Persistence or of an erasure uses the plugin or the store that has called it: use only "
                    + "what it gets")
            // A write takes longer than this.
            SystemFileSystem.pause()
        }
    }

    /// Runs `body`, unless a thread has the turn: then it returns nil without waiting.
    package func takeIfFree<Result>(_ body: () throws(SluiceError) -> Result) throws(SluiceError) -> Result? {
        let isFree = owner.withLock { owner in
            guard owner == nil else { return false }
            owner = currentThread
            return true
        }
        guard isFree else { return nil }
        defer { owner.withLock { $0 = nil } }
        return try body()
    }
}
