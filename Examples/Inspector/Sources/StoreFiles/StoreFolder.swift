import Foundation
package import Sluice

/// A segment: a file of events that the host deletes as a whole when they are delivered.
package struct Segment: Hashable, Sendable {
    package let path: String
    /// The name of the process's directory.
    package let process: String
    package let priority: Event.Priority
    package let sequence: UInt64
    /// Whether its lines are arrived events, as `sluice collect` keeps them: without checksums, and of any priority.
    package let isCollected: Bool
    /// Whether the file was one of an earlier segment. Newlines follow its lines while the host writes to it.
    let isReused: Bool

    /// A short name that is unique in the folder, for practical purposes.
    package var shortName: String {
        isCollected
            ? path.split(separator: "/").suffix(2).joined(separator: "/")
            : "\(process.prefix(8))/\(priority)-\(sequence)"
    }

    /// Returns nil if the name isn't `<priority>-<sequence>-<created>.jsonl`, or `<priority>-<sequence>-<created>-r.jsonl`.
    init?(_ name: String, in directory: String, of process: String) {
        guard name.hasSuffix(".jsonl") else { return nil }
        let parts = name.dropLast(6).split(separator: "-", omittingEmptySubsequences: false)
        isReused = parts.count == 4 && parts[3] == "r"
        guard parts.count == 3 || isReused, parts[1].utf8.count == 16, let sequence = UInt64(parts[1], radix: 16),
            UInt64(parts[2]) != nil
        else { return nil }
        switch parts[0] {
        case "normal": priority = .normal
        case "critical": priority = .critical
        default: return nil
        }
        self.sequence = sequence
        self.process = process
        isCollected = false
        path = "\(directory)/\(name)"
    }

    /// A file of arrived events.
    init?(collected name: String, in directory: String, of date: String) {
        guard name.hasSuffix(".ndjson") else { return nil }
        (path, process, priority, sequence, isCollected) = ("\(directory)/\(name)", date, .normal, 0, true)
        isReused = false
    }

    /// The checksums of a reused file's lines are combined with it by exclusive or.
    var seed: UInt32 { isReused ? UInt32(truncatingIfNeeded: sequence) : 0 }

    /// Returns the event's line, or nil if only the host can read it.
    ///
    /// - Throws: The flaw of a damaged line.
    func eventLine(_ line: Line) throws(Flaw) -> EventLine? {
        if isCollected {
            if line.isCut { throw .tooLong }
            guard let event = EventLine(collected: line.bytes) else { throw .noEvent }
            return event
        }
        let stored = try StoredLine(line, seed: seed)
        return stored.isEncrypted ? nil : stored.eventLine(priority)
    }
}

/// The directory of one process in a store's folder, or of one day in a folder of collected events.
package struct ProcessDirectory: Sendable {
    /// A UUID, and the name of the route if it isn't `main`. Of collected events, `date=` and the day.
    package let name: String
    /// The route whose events it has; nil for collected events.
    package let route: String?
    package let path: String
    /// In the order in which they were created.
    package private(set) var segments: [Segment] = []
    /// The paths of the files of dead letters, in the order in which they were created.
    package private(set) var deadLetterFiles: [String] = []
    /// A directory without permission. Its files are missing here.
    package private(set) var problems: [FileProblem] = []

    init(_ name: String, in folder: String) {
        self.name = name
        path = "\(folder)/\(name)"
        route = isDay(name) ? nil : routeName(ofDirectory: name)
        let entries = list(path)
        if route == nil {
            segments = entries.compactMap { Segment(collected: $0, in: path, of: name) }
            return
        }
        segments = entries.compactMap { Segment($0, in: path, of: name) }.sorted { $0.sequence < $1.sequence }
        // The names are in order, and all sequence numbers have the same length.
        deadLetterFiles = entries.filter { $0.hasPrefix("rejected-") && $0.hasSuffix(".jsonl") }.map { "\(path)/\($0)" }
    }

    private mutating func list(_ directory: String) -> [String] {
        do throws(FileProblem) {
            return try names(in: directory)
        } catch {
            if !error.isMissing { problems.append(error) }
            return []
        }
    }

    /// Whether the host may still append to a segment: the newest one of its priority, as long as the process runs.
    package func mayGrow(_ segment: Segment) -> Bool {
        route == nil || segments.last { $0.priority == segment.priority } == segment
    }

    /// Whether a process uses the directory now.
    package var isRunning: Bool {
        if route == nil { return false }
        // Some network drives can't lock directories, so there is a file beside it.
        return [path, "\(path)/lock"].contains { path in
            do throws(FileProblem) {
                return try ReadOnlyFile(path).isLocked
            } catch {
                return false  // The process has ended, and has removed its directory.
            }
        }
    }
}

/// Whether this is the name of a folder of collected events.
func isDay(_ name: String) -> Bool { name.hasPrefix("date=") }

/// The route in the name of a store's directory, `<uuid>` or `<uuid>.<route>`; nil for other names.
func routeName(ofDirectory name: String) -> String? {
    let suffix = name.dropFirst(EventID.textLength)
    guard EventID(String(name.prefix(EventID.textLength))) != nil, suffix.isEmpty || suffix.hasPrefix(".") else {
        return nil
    }
    // The store writes other bytes than letters and digits as `%20`.
    return suffix.isEmpty ? "main" : suffix.dropFirst().removingPercentEncoding ?? String(suffix.dropFirst())
}

/// The folder of a `JSONLStore`, or one of collected events. It is only ever read. Other processes may write and delete
/// files at the same time.
package struct StoreFolder: Sendable {
    package let path: String
    /// The only route whose directories are listed; nil for all of them.
    package var route: String?

    /// Looks at a folder.
    ///
    /// - Throws: A ``NotAStore`` with advice if it isn't such a folder, or a ``FileProblem``.
    package init(_ path: String) throws {
        self.path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        let kind: FileStatus.Kind
        do throws(FileProblem) {
            kind = try FileStatus(of: path, followsLink: true).kind
        } catch {
            guard error.isMissing else { throw error }
            let parent = URL(fileURLWithPath: self.path).deletingLastPathComponent().relativePath
            let some = stores(in: parent)
            throw NotAStore("there is no folder \(path): pass the one that the host passes to JSONLStore(at:)\(some)")
        }
        guard kind == .directory else {
            throw NotAStore("\(path) is a file: pass the folder that the host passes to JSONLStore(at:)")
        }
        let entries = try names(in: path)
        if entries.contains("lock") {
            throw NotAStore("\(path) is the directory of one process: pass the folder that contains it")
        }
        guard entries.isEmpty || entries.contains(where: { isDay($0) || routeName(ofDirectory: $0) != nil }) else {
            let some = stores(in: self.path)
            throw NotAStore("\(path) is not the folder of a JSONLStore: pass the one that the host passes to it\(some)")
        }
        if let lake = try LakeFolder(path), try lake.files().files.contains(where: { $0.isCompressed || $0.hasHour }) {
            throw NotAStore("\(path) has compressed or hourly files of events: use sluice query or sluice erase")
        }
    }

    /// Returns the same folder with the directories of one route only.
    ///
    /// - Throws: A ``NotAStore`` that counts the events and dead letters of the folder's routes if there are others, but not
    ///   this one.
    package func only(_ route: String) throws -> StoreFolder {
        try requireStore()
        let routes = try routes()
        guard routes.isEmpty || routes.contains(route) else {
            // The ages don't matter here.
            let statistics = try StoreStatistics(of: self, at: Timestamp(milliseconds: 0))
            let counts = routes.map { ($0, statistics.counts(of: $0)) }
            let others = counts.map { "\($0) (\($1.waiting + $1.deadLetters))" }.joined(separator: ", ")
            throw NotAStore(
                "there is no route \(route) in \(path), which has events of \(others): pass one with --route")
        }
        var folder = self
        folder.route = route
        return folder
    }

    /// - Throws: A ``NotAStore`` if the folder has collected events.
    package func requireStore() throws {
        guard try !processes().contains(where: { $0.route == nil }) else {
            throw NotAStore("\(path) has collected events, which belong to no route: pass the folder of a JSONLStore")
        }
    }

    /// The names of the routes that have directories here, in alphabetical order.
    package func routes() throws(FileProblem) -> [String] { Set(try processes().compactMap(\.route)).sorted() }

    /// The directories of all processes, by name.
    ///
    /// - Throws: A ``FileProblem`` if the folder can't be listed, also if someone has deleted it.
    package func processes() throws(FileProblem) -> [ProcessDirectory] {
        try names(in: path).filter { name in
            let route = routeName(ofDirectory: name)
            return self.route.map { $0 == route } ?? (route != nil || isDay(name))
        }.map { ProcessDirectory($0, in: path) }
    }
}

/// The first folders of stores and of collected events in a folder, for advice. Empty if there are none.
private func stores(in folder: String) -> String {
    func entries(_ path: String) -> [String] {
        do throws(FileProblem) { return try names(in: path) } catch { return [] }
    }
    let stores = entries(folder).filter { name in
        entries("\(folder)/\(name)").contains { isDay($0) || routeName(ofDirectory: $0) != nil }
    }
    return stores.isEmpty ? "" : ", such as " + stores.prefix(3).map { "\(folder)/\($0)" }.joined(separator: " or ")
}

/// The reason why a command can't use a folder, with advice.
package struct NotAStore: Error, Equatable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
