package import Sluice

/// An event that a host has appended, or that has arrived.
package struct AppendedEvent: Sendable {
    /// The name of the process's directory.
    package let process: String
    /// The route whose store has it; nil for an event that has arrived.
    package var route: String?
    /// Nil if the store encrypts its lines.
    package let line: EventLine?
    /// The ``Segment/shortName`` of its segment.
    package var segment = ""

    /// The event's own time, read without the rest of its line. Nil if the line can't be read.
    package var time: Timestamp? { line.flatMap { EventHeader($0.bytes)?.time } }
}

/// Follows a store's folder: each ``poll(_:)`` reads the lines that were appended since the last one.
///
/// It keeps the newest segments open. So it also sees the last events of a segment that the host deletes between two
/// polls. A segment that is created and deleted between two polls is missed.
package struct StoreFollower {
    /// A segment as far as it was read.
    private struct Position {
        var end = 0
        var events = 0
        /// Nil if nothing is appended any more, or if too many files are open.
        var file: ReadOnlyFile?
        /// Whether the segment was read after the last line was appended.
        var isComplete = false
    }

    package let folder: StoreFolder
    /// The events in all segments. Without ``countsAll``, those in segments that were closed before the first poll are
    /// missing.
    package private(set) var waiting = 0
    package private(set) var damaged = 0
    /// The events whose segments were deleted since the first poll.
    package private(set) var removed = 0
    /// The segments that were deleted since the last poll.
    package private(set) var removedSegments: [Segment] = []
    /// Files that can't be read.
    package private(set) var problems: Set<FileProblem> = []
    /// The directories of processes at the last poll.
    package private(set) var directories: [ProcessDirectory] = []

    private let countsAll: Bool
    private var positions: [Segment: Position] = [:]
    private var openFiles = 0
    private var isFirst = true
    private var reader = LineReader()

    private static let mostOpenFiles = 64

    /// - Parameter countsAll: Whether the first poll counts all events. Otherwise it skips the segments to which nothing
    ///   is appended any more.
    package init(_ folder: StoreFolder, countsAll: Bool) {
        self.folder = folder
        self.countsAll = countsAll
    }

    /// The number of events in a segment, as far as it was read.
    package func events(in segment: Segment) -> Int { positions[segment]?.events ?? 0 }

    /// Reads the appended lines, in the order of the segments. The first poll reports the events that are already there.
    ///
    /// - Throws: A ``FileProblem`` if the folder can't be listed. If it is missing, its events don't count as removed.
    package mutating func poll(_ onEvent: (AppendedEvent) -> Void) throws(FileProblem) {
        removedSegments = []
        do throws(FileProblem) {
            directories = try folder.processes()
        } catch {
            if error.isMissing { forgetSegments(onEvent) }
            throw error
        }
        var present: Set<Segment> = []
        problems = Set(directories.flatMap(\.problems))
        let all = directories.flatMap { directory in directory.segments.map { ($0, directory.mayGrow($0)) } }
        for (segment, mayGrow) in all.sorted(by: { $0.0.sequence < $1.0.sequence }) {
            present.insert(segment)
            read(segment, mayGrow: mayGrow, onEvent)
        }
        for (segment, position) in positions where !present.contains(segment) {
            if position.file != nil { read(segment, mayGrow: false, onEvent) }
            guard let last = positions.removeValue(forKey: segment) else { continue }
            waiting -= last.events
            removed += last.events
            removedSegments.append(segment)
        }
        isFirst = false
    }

    /// Reads the last events of the open segments, and then forgets all segments, because the folder is missing.
    private mutating func forgetSegments(_ onEvent: (AppendedEvent) -> Void) {
        for (segment, position) in positions where position.file != nil { read(segment, mayGrow: false, onEvent) }
        (directories, positions, waiting) = ([], [:], 0)
    }

    private mutating func read(_ segment: Segment, mayGrow: Bool, _ onEvent: (AppendedEvent) -> Void) {
        var position = positions[segment] ?? Position()
        defer { positions[segment] = position }
        let isUnseen = positions[segment] == nil
        if position.isComplete { return }
        do throws(FileProblem) {
            if isUnseen, isFirst, !countsAll, !mayGrow {
                position.isComplete = true
                return
            }
            if position.file == nil {
                // An empty segment is opened too, so that it can be read after it was deleted.
                let keepsOpen = mayGrow && openFiles < StoreFollower.mostOpenFiles
                guard try FileStatus(of: segment.path).size > position.end || keepsOpen else {
                    position.isComplete = !mayGrow
                    return
                }
                position.file = try ReadOnlyFile(segment.path)
                openFiles += 1
            }
            if let file = position.file { try read(file, &position, segment, mayGrow: mayGrow, onEvent) }
            position.isComplete = !mayGrow
        } catch {
            // A missing file counts as removed at the next poll.
            if !error.isMissing { problems.insert(error) }
        }
        if position.file != nil, !mayGrow || openFiles > StoreFollower.mostOpenFiles {
            position.file = nil
            openFiles -= 1
        }
    }

    private mutating func read(
        _ file: ReadOnlyFile, _ position: inout Position, _ segment: Segment, mayGrow: Bool,
        _ onEvent: (AppendedEvent) -> Void
    ) throws(FileProblem) {
        var events = 0
        var flaws = 0
        // In a reused file: behind the last line, or the beginning of a last one that may not be complete yet.
        var next = position.end
        var isTorn = false
        let (end, _) = try reader.read(file, from: position.end) { line in
            if !line.bytes.isEmpty { (next, isTorn) = (line.offset + line.bytes.count + 1, false) }
            if line.hasNothing { return }
            do throws(Flaw) {
                let event = try segment.eventLine(line)
                events += 1
                onEvent(
                    AppendedEvent(
                        process: segment.process, route: routeName(ofDirectory: segment.process), line: event,
                        segment: segment.shortName))
            } catch {
                flaws += 1
                if mayGrow { (next, isTorn) = (line.offset, true) }
            }
        }
        position.end = segment.isReused ? next : end
        if segment.isReused, isTorn { flaws -= 1 }
        position.events += events
        waiting += events
        damaged += flaws
    }
}
