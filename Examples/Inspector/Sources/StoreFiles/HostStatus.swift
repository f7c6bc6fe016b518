import Foundation

/// The file `status.json`, in which a host tells about a route.
package struct HostStatus: Decodable, Hashable, Sendable {
    package let route: String
    /// Such as `ready`, `pausing` or `paused`. A later version of the host may write others.
    package let state: String
    /// When the host wrote the file, in milliseconds since 1970.
    package let at: Int64
    /// See ``RouteSummary/nextAttempt``.
    fileprivate let nextAttempt: Int64?
    package let lastStatus: Int?
    package let lastFailure: String?

    /// A host's file has up to 5 KiB.
    private static let largest = 65_536

    /// Returns nil if there is no such file, or if it can't be read: a host writes it after its first attempt.
    init?(in directory: String) {
        var bytes = [UInt8](repeating: 0, count: HostStatus.largest)
        do {
            let file = try ReadOnlyFile("\(directory)/status.json")
            let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
            self = try JSONDecoder().decode(HostStatus.self, from: Data(bytes[..<count]))
        } catch {
            return nil
        }
    }
}

/// The state of a route, from the directories of all its processes.
package struct RouteSummary: Sendable, Hashable {
    package let name: String
    /// At least as many processes run: one if a directory is in use, and one for each status. A host has none before its first
    /// attempt.
    package private(set) var running = 0
    /// The newest status of a running process. If no process runs, the one that the last process left.
    package private(set) var status: HostStatus?

    /// The state in one word: that of a running host, such as `ready`, or `running` before its first attempt, or `ended`.
    package var state: String { running == 0 ? "ended" : status?.state ?? "running" }

    /// When a running host makes the next attempt, in milliseconds since 1970. One that has ended makes none.
    package var nextAttempt: Int64? { running == 0 ? nil : status?.nextAttempt }

    private init(_ name: String, _ directories: [ProcessDirectory]) {
        self.name = name
        let used = directories.filter(\.isRunning)
        // A process also locks the directories that it has taken over, which have no status.
        let statuses = (used.isEmpty ? directories : used).compactMap { HostStatus(in: $0.path) }
        status = statuses.max { $0.at < $1.at }
        running = used.isEmpty ? 0 : max(1, statuses.count)
    }

    /// The routes of directories, `main` first, the others in alphabetical order.
    package static func all(of directories: [ProcessDirectory]) -> [RouteSummary] {
        let routes = Dictionary(grouping: directories.filter { $0.route != nil }) { $0.route ?? "" }
        return routes.map { RouteSummary($0.key, $0.value) }
            .sorted { ($0.name == "main" ? 0 : 1, $0.name) < ($1.name == "main" ? 0 : 1, $1.name) }
    }
}

extension [RouteSummary] {
    /// At least as many processes run. The files don't tell which routes belong to one process, so the largest number of a
    /// route counts.
    package var running: Int { map(\.running).max() ?? 0 }
}
