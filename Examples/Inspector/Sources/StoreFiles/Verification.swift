/// The place of a damaged line.
package struct Damage: CustomStringConvertible {
    package let path: String
    /// From 1.
    package let line: Int
    /// In bytes, from 0.
    package let offset: Int
    package let flaw: Flaw

    package var description: String { "\(path): line \(line), byte \(offset): \(flaw.rawValue)" }
}

/// The result of checking every line of a store's folder.
package struct Verification {
    package private(set) var files = 0
    /// Undamaged lines.
    package private(set) var lines = 0
    package private(set) var damaged = 0
    /// Files and directories without permission.
    package private(set) var problems: [FileProblem] = []

    /// Whether every file could be read, and no line is damaged.
    package var isClean: Bool { damaged == 0 && problems.isEmpty }

    /// Compares each line with its checksum, and reads each dead letter.
    ///
    /// - Parameters:
    ///   - folder: The folder.
    ///   - onDamage: Called with each damaged line.
    /// - Throws: A ``FileProblem`` if the folder itself can't be listed.
    package init(of folder: StoreFolder, onDamage: (Damage) -> Void) throws(FileProblem) {
        var reader = LineReader()
        for directory in try folder.processes() {
            problems += directory.problems
            let isRunning = directory.isRunning
            for segment in directory.segments {
                // The host may be in the middle of its last line.
                let mayBeTorn = (isRunning || segment.isCollected) && directory.mayGrow(segment)
                check(segment.path, mayBeTorn: mayBeTorn, &reader, onDamage) { line throws(Flaw) in
                    _ = try segment.eventLine(line)
                }
            }
            for path in directory.deadLetterFiles {
                check(path, mayBeTorn: isRunning, &reader, onDamage) { line throws(Flaw) in
                    _ = try DeadLetterLine(line)
                }
            }
        }
    }

    private mutating func check(
        _ path: String, mayBeTorn: Bool, _ reader: inout LineReader, _ onDamage: (Damage) -> Void,
        _ check: (Line) throws(Flaw) -> Void
    ) {
        func report(_ line: Int, _ offset: Int, _ flaw: Flaw) {
            damaged += 1
            onDamage(Damage(path: path, line: line, offset: offset, flaw: flaw))
        }
        do throws(FileProblem) {
            let read = try reader.readAll(of: path) { number, line in
                if line.hasNothing { return }
                do throws(Flaw) {
                    try check(line)
                    lines += 1
                } catch {
                    report(number, line.offset, error)
                }
            }
            guard let read else { return }  // The host has delivered it.
            files += 1
            if read.rest > 0, !mayBeTorn { report(read.lines + 1, read.end, .torn) }
        } catch {
            problems.append(error)
        }
    }
}
