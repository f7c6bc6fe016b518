package import Sluice

/// Reads all events of a store's folder: the waiting ones and the dead letters.
package struct EventList {
    /// Lines that are damaged, or no events that this version can read.
    package private(set) var damaged = 0
    /// Events that only the host can read.
    package private(set) var encrypted = 0
    /// Files and directories without permission.
    package private(set) var problems: [FileProblem] = []

    /// Calls `body` with each event of one file after the other.
    ///
    /// - Throws: A ``FileProblem`` if the folder itself can't be listed.
    package init(of folder: StoreFolder, _ body: (Event) -> Void) throws(FileProblem) {
        var reader = LineReader()
        for directory in try folder.processes() {
            problems += directory.problems
            for segment in directory.segments {
                read(segment.path, &reader, body) { line throws(Flaw) in try segment.eventLine(line) }
            }
            for path in directory.deadLetterFiles {
                read(path, &reader, body) { line throws(Flaw) in try DeadLetterLine(line)?.event }
            }
        }
    }

    private mutating func read(
        _ path: String, _ reader: inout LineReader, _ body: (Event) -> Void,
        _ event: (Line) throws(Flaw) -> EventLine?
    ) {
        do throws(FileProblem) {
            _ = try reader.readAll(of: path) { _, line in
                if line.hasNothing { return }
                do {
                    if let event = try event(line)?.event() { body(event) } else { encrypted += 1 }
                } catch {
                    damaged += 1
                }
            }
        } catch {
            problems.append(error)
        }
    }
}
