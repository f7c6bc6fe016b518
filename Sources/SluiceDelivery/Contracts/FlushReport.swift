/// The result of a flush, of all routes together.
///
/// It counts the events that waited when the flush began, and no later ones. Each of them is delivered, rejected, waiting, or
/// was lost during the flush, which the ledger counts. If events are erased during the flush, its counts can be
/// too low by up to their number, because a store doesn't say whether they are older than the flush.
///
/// ```swift
/// let result = await pipeline.flush()
/// print("\(result.delivered) delivered, \(result.rejected) rejected, \(result.waiting) still wait")
/// ```
public struct FlushReport: Sendable, Hashable {
    /// Events that receivers accepted during the flush.
    public package(set) var delivered = 0
    /// Events that became dead letters during the flush.
    public package(set) var rejected = 0
    /// Events that waited when the flush began, and still waited when it ended in their route, which can be before it ends in the
    /// others. Events in ``unreadBytes`` don't count.
    public package(set) var waiting = 0
    /// The size of waiting events of earlier processes that the stores have not read yet.
    public package(set) var unreadBytes = 0

    /// Whether none of the events that waited when the flush began still waits.
    public var isComplete: Bool { waiting == 0 && unreadBytes == 0 }

    package init() {}

    /// Returns the sum of the reports of two routes.
    package static func + (left: FlushReport, right: FlushReport) -> FlushReport {
        var sum = left
        sum.delivered += right.delivered
        sum.rejected += right.rejected
        sum.waiting += right.waiting
        sum.unreadBytes += right.unreadBytes
        return sum
    }
}

extension FlushReport: CustomStringConvertible {
    /// The counts in one line. With ``unreadBytes``, more events wait than were counted.
    ///
    /// ```swift
    /// print(await pipeline.flush())
    /// // 118 delivered, 0 rejected, at least 2 waiting, 3232 bytes unread
    /// ```
    public var description: String {
        "\(delivered) delivered, \(rejected) rejected, \(unreadBytes > 0 ? "at least " : "")\(waiting) waiting"
            + (unreadBytes == 0 ? "" : ", \(unreadBytes) bytes unread")
    }
}
