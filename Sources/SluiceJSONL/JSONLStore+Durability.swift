extension JSONLStore {
    /// The failures that an event survives after ``JSONLStore/append(_:)`` has returned. You choose the level when you
    /// create the store.
    public enum Durability: Sendable, Hashable {
        /// Nothing yet: events are written 64 KiB at a time, and when a batch is taken. A crash of the process loses the
        /// events that were not written; a shutdown doesn't.
        case buffered
        /// The end of the process for any reason: `kill -9`, a trap, out of memory. A loss of power or a crash of the
        /// system can lose the events that the system had not written, usually of the last 5 to 30 seconds.
        case process
        /// The same as ``process``, and a loss of power loses at most the events of the last `milliseconds`, or of two
        /// synchronizations if they take longer. A task synchronizes one file after another. Callers wait for the drive only
        /// if more than 16 closed files wait for it, so the time is bounded on a slow drive too. Use at least 1 ms. More
        /// than a day counts as a day.
        ///
        /// ```swift
        /// let bounded = JSONLStore(at: stateDirectory, durability: .interval(milliseconds: 200))
        /// ```
        case interval(milliseconds: Int)
        /// A loss of power, unless the drive confirms writes that it has not made. Each event waits for a
        /// synchronization (0.2 to 20 ms). On Apple's platforms it is `F_FULLFSYNC`. Directories are synchronized if
        /// their file system can do that, which CIFS and some FUSE drives can't.
        case full
    }
}
