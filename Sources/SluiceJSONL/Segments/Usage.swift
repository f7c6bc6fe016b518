/// The number and size of stored events, or of dead letters.
struct Usage: Equatable {
    var count = 0
    /// The length of the events' own lines.
    var eventBytes = 0
    /// The size of files whose lines are not counted yet.
    var unreadBytes = 0
    /// The size of all files, including retired ones that still exist.
    var fileBytes = 0

    static func + (left: Usage, right: Usage) -> Usage {
        Usage(
            count: left.count + right.count, eventBytes: left.eventBytes + right.eventBytes,
            unreadBytes: left.unreadBytes + right.unreadBytes, fileBytes: left.fileBytes + right.fileBytes)
    }

    static func - (left: Usage, right: Usage) -> Usage {
        Usage(
            count: left.count - right.count, eventBytes: left.eventBytes - right.eventBytes,
            unreadBytes: left.unreadBytes - right.unreadBytes, fileBytes: left.fileBytes - right.fileBytes)
    }
}
