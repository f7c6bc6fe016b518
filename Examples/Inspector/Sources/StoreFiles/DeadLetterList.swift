/// Reads the dead letters of a store's folder.
package struct DeadLetterList {
    package private(set) var damaged = 0
    package private(set) var problems: [FileProblem] = []

    /// Calls `body` with each dead letter and its process's directory.
    ///
    /// - Parameters:
    ///   - directories: The directories of a folder's processes.
    ///   - body: Called with the letters of one file after the other, the oldest one of each process first. An encrypted one
    ///     is nil.
    package init(of directories: [ProcessDirectory], _ body: (ProcessDirectory, DeadLetterLine?) -> Void) {
        var reader = LineReader()
        for directory in directories {
            problems += directory.problems
            for path in directory.deadLetterFiles {
                do throws(FileProblem) {
                    _ = try reader.readAll(of: path) { _, line in
                        if line.bytes.isEmpty { return }
                        do throws(Flaw) {
                            body(directory, try DeadLetterLine(line))
                        } catch {
                            damaged += 1
                        }
                    }
                } catch {
                    problems.append(error)
                }
            }
        }
    }

    /// Changes whenever the dead letters may have changed.
    package static func version(of directories: [ProcessDirectory]) -> [[Int]] {
        directories.flatMap(\.deadLetterFiles).map { path in
            do throws(FileProblem) {
                return try FileStatus(of: path).version
            } catch {
                return []
            }
        }
    }
}
