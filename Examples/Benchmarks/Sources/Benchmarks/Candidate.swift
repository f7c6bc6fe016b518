/// One row of the table: a way to spend processor time on an event.
protocol Candidate {
    /// Its name for `--filter` and `--json`.
    var row: String { get }
    var description: String { get }

    /// Spends the time for `events` events once, and checks that the work was really done.
    ///
    /// - Parameter folder: exists, is empty, and is deleted afterwards.
    /// - Returns: the nanoseconds spent on all events together, without setting up and checking.
    func nanoseconds(for events: Int, in folder: String) async throws -> Int
}

/// Why a measurement says nothing.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }

    static func unless(_ found: Int, is expected: Int, _ what: String) throws {
        if found != expected { throw Failure("\(found) \(what) in place of \(expected)") }
    }
}
