extension JSONLStore {
    /// What an event has survived when ``JSONLStore/append(_:)`` returns.
    public enum Durability: Sendable, Hashable {
        /// Nothing yet: events are written 64 KiB at a time, and when the delivery loop asks for a batch. A crash of the
        /// process loses what was not written; a shutdown does not.
        case buffered
        /// The end of the process, by whatever cause (`kill -9`, a trap, out of memory); a loss of power, or a crash of
        /// the system, may lose what the system had not written by then, usually the last 5 to 30 seconds.
        case process
        /// As ``process``; and a loss of power loses no more than the events of the last so many milliseconds, and of as
        /// long as the drive takes to synchronise. That runs in a task beside the callers, who do not wait for it. At
        /// least 1 ms; more than a day is taken for a day.
        case interval(milliseconds: Int)
        /// The loss of power, as far as the drive is honest; each event waits for a synchronisation (0.2 to 20 ms).
        /// On Apple's platforms it is `F_FULLFSYNC`.
        case full
    }
}
