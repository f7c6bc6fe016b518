package import Sluice

/// A segment: a file of events that the host deletes as a whole when they are delivered.
package struct Segment: Hashable {
    package let path: String
    /// The name of the process's directory.
    package let process: String
    package let priority: Event.Priority
    package let sequence: UInt64

    /// A short name that is unique in the folder, for practical purposes.
    package var shortName: String { "\(process.prefix(8))/\(priority)-\(sequence)" }

    /// Returns nil if the name isn't `<priority>-<sequence>-<created>.jsonl`.
    init?(_ name: String, in directory: String, of process: String) {
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[1].utf8.count == 16, let sequence = UInt64(parts[1], radix: 16),
            parts[2].hasSuffix(".jsonl"), UInt64(parts[2].dropLast(6)) != nil
        else { return nil }
        switch parts[0] {
        case "normal": priority = .normal
        case "critical": priority = .critical
        default: return nil
        }
        self.sequence = sequence
        self.process = process
        path = "\(directory)/\(name)"
    }
}

/// The directory of one process in a store's folder.
package struct ProcessDirectory {
    /// A UUID, and the name of the route if it isn't `main`.
    package let name: String
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
        let entries = list(path)
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
        segments.last { $0.priority == segment.priority } == segment
    }

    /// Whether a process uses the directory now.
    package var isRunning: Bool {
        // Some network drives can't lock directories, so there is a file beside it.
        [path, "\(path)/lock"].contains { path in
            do throws(FileProblem) {
                return try ReadOnlyFile(path).isLocked
            } catch {
                return false  // The process has ended, and has removed its directory.
            }
        }
    }
}

/// Whether a store makes such names: `<uuid>`, or `<uuid>.<route>` for a route that isn't called `main`.
private func isProcessDirectory(_ name: String) -> Bool {
    let rest = name.dropFirst(EventID.textLength)
    return EventID(String(name.prefix(EventID.textLength))) != nil && (rest.isEmpty || rest.hasPrefix("."))
}

/// The folder of a `JSONLStore`, which is only ever read. The host may write and delete files meanwhile.
package struct StoreFolder: Sendable {
    package let path: String

    /// Looks at a folder.
    ///
    /// - Throws: A ``NotAStore`` with advice if it isn't a store's folder, or a ``FileProblem``.
    package init(_ path: String) throws {
        self.path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        let kind: FileStatus.Kind
        do throws(FileProblem) {
            kind = try FileStatus(of: path, followsLink: true).kind
        } catch {
            guard error.isMissing else { throw error }
            throw NotAStore("there is no folder \(path): pass the one that the host passes to JSONLStore(at:)")
        }
        guard kind == .directory else {
            throw NotAStore("\(path) is a file: pass the folder that the host passes to JSONLStore(at:)")
        }
        let entries = try names(in: path)
        if entries.contains("lock") {
            throw NotAStore("\(path) is the directory of one process: pass the folder that contains it")
        }
        guard entries.isEmpty || entries.contains(where: isProcessDirectory) else {
            throw NotAStore("\(path) is not the folder of a JSONLStore: pass the one that the host passes to it")
        }
    }

    /// The directories of all processes, by name.
    ///
    /// - Throws: A ``FileProblem`` if the folder can't be listed, also if someone has deleted it.
    package func processes() throws(FileProblem) -> [ProcessDirectory] {
        try names(in: path).filter(isProcessDirectory).map { ProcessDirectory($0, in: path) }
    }
}

/// The reason why a path can't be inspected, with advice.
package struct NotAStore: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
