import Sluice

/// An event somewhere in a folder.
package struct FoundEvent: Sendable {
    package let place: AppendedEvent
    package let event: EventFields
    /// The reason of a dead letter.
    package let reason: String?
    /// Whether no event with its id was found before.
    package let isFirst: Bool
}

/// Reads all events and dead letters of a folder, and counts the ones that match a query.
///
/// An event of several routes is counted once.
package struct FolderScan {
    package private(set) var tally = EventTally()
    /// Lines that are damaged or encrypted.
    package private(set) var unreadable = 0
    package private(set) var problems: [FileProblem] = []

    private let query: EventQuery
    private var counted: Set<String> = []

    /// - Parameter query: A normalized query.
    package init(_ query: EventQuery) {
        self.query = query
    }

    /// The part of a folder that was read.
    package struct Progress: Sendable {
        package var bytes = 0
        package var total = 0
    }

    /// Reads the folder.
    ///
    /// - Parameters:
    ///   - folder: The folder.
    ///   - onProgress: Called often. Reading ends when it returns false.
    ///   - onMatch: Called with each event that matches, once for each of its routes.
    /// - Throws: A ``FileProblem`` if the folder itself can't be listed.
    package mutating func read(
        _ folder: StoreFolder, onProgress: (Progress) -> Bool, onMatch: (FoundEvent) -> Void
    ) throws(FileProblem) {
        var reader = LineReader()
        var progress = Progress()
        let directories = try folder.processes()
        let paths = directories.flatMap { $0.segments.map(\.path) + $0.deadLetterFiles }
        progress.total = paths.reduce(0) { $0 + size(of: $1) }
        for directory in directories {
            problems += directory.problems
            for segment in directory.segments {
                guard
                    read(
                        segment.path, &reader, &progress, onProgress,
                        { scan, line throws(Flaw) in
                            guard let event = try segment.eventLine(line) else { return scan.unreadable += 1 }
                            let place = AppendedEvent(
                                process: directory.name, route: directory.route, line: event, segment: segment.shortName
                            )
                            scan.look(at: place, reason: nil, onMatch)
                        })
                else { return }
            }
            for path in directory.deadLetterFiles {
                guard
                    read(
                        path, &reader, &progress, onProgress,
                        { scan, line throws(Flaw) in
                            guard let letter = try DeadLetterLine(line) else { return scan.unreadable += 1 }
                            let place = AppendedEvent(
                                process: directory.name, route: directory.route, line: letter.event)
                            scan.look(at: place, reason: letter.reason, onMatch)
                        })
                else { return }
            }
        }
    }

    /// Looks at an event, for example one that isn't in the folder any more.
    package mutating func look(at place: AppendedEvent, reason: String?, _ onMatch: (FoundEvent) -> Void) {
        guard let line = place.line, let event = EventFields(line.bytes, withLines: !query.text.isEmpty) else {
            return unreadable += 1
        }
        guard query.matches(event, in: place.process) else { return }
        let isFirst = counted.insert(event.id).inserted
        if isFirst { tally.add(event) }
        onMatch(FoundEvent(place: place, event: event, reason: reason, isFirst: isFirst))
    }

    /// Reads a file. Returns false to end reading.
    private mutating func read(
        _ path: String, _ reader: inout LineReader, _ progress: inout Progress, _ onProgress: (Progress) -> Bool,
        _ body: (inout Self, Line) throws(Flaw) -> Void
    ) -> Bool {
        let start = progress.bytes
        var isWanted = true
        do throws(FileProblem) {
            let read = try reader.readAll(of: path) { number, line in
                if isWanted, number % 256 == 0 {
                    progress.bytes = start + line.offset
                    isWanted = onProgress(progress)
                }
                if !isWanted || line.hasNothing { return }
                do throws(Flaw) {
                    try body(&self, line)
                } catch {
                    unreadable += 1
                }
            }
            progress.bytes = start + (read.map { $0.end + $0.rest } ?? 0)
        } catch {
            problems.append(error)
        }
        return isWanted && onProgress(progress)
    }

    private func size(of path: String) -> Int {
        do throws(FileProblem) {
            return try FileStatus(of: path).size
        } catch {
            return 0  // It is gone, or reading it reports the problem.
        }
    }
}
