internal import Sluice

/// Finds the lines of files that must be erased, and writes files without them.
///
/// The bytes of other lines keep their places, because the id of a dead letter contains the place of its event. So newlines
/// replace the bytes of an erased line, and readers skip empty lines. Damaged and settled lines are erased too: they can't be
/// delivered, and can belong to any person.
struct LineEraser {
    /// A file with lines to erase.
    struct Finding {
        let bytes: [UInt8]
        let contents: SegmentReader.Contents
        /// The lines to erase.
        let erased: Set<LinePlace>

        /// The file without these lines.
        var rest: [UInt8] {
            var rest = [UInt8](repeating: LineFormat.newline, count: bytes.count)
            for place in contents.places where !erased.contains(place) {
                rest.replaceSubrange(place.line, with: bytes[place.line])
            }
            return rest
        }
    }

    let reader: SegmentReader
    let isMatch: (EventLine) -> Bool

    /// Reads a file. Returns nil if nothing in it must be erased.
    func find(in path: String, limit: Int, _ name: SegmentName) throws(SegmentReader.Failure) -> Finding? {
        let bytes = try reader.bytes(of: path, limit: limit)
        let contents = try reader.contents(of: bytes, name)
        let erased = contents.lines.indices.filter { index in
            let line = contents.lines[index]
            if name.lane.holdsEvents { return isMatch(line) }
            return DeadLetterLine.decoded(line.bytes).map { isMatch($0.line) } ?? false
        }
        guard !erased.isEmpty || contents.damaged > 0 || contents.skipped > 0 else { return nil }
        return Finding(bytes: bytes, contents: contents, erased: Set(erased.map { contents.places[$0] }))
    }

    /// Erases in the files of a directory whose process has ended, and whose events no store has counted.
    ///
    /// - Returns: the report, the number of damaged lines that were removed from files of events, and whether nothing to erase
    ///   is left in files that a store would deliver.
    func run(in directory: InstanceDirectory, largest: Int) -> (report: ErasureReport, damaged: Int, isSafe: Bool) {
        var report = ErasureReport()
        var problems = EraserProblems()
        var damaged = 0
        var isSafe = true
        do throws(FileError) {
            let listing = try directory.listing(largest: largest)
            for name in listing.foreign { report.left.append("\(directory.path)/\(name): not a file of this store") }
            for name in listing.unknown { report.left.append("\(directory.path)/\(name): can't be read") }
            isSafe = listing.unknown.isEmpty
            var letters: Set<DeadLetter.ID> = []
            // Dead letters first: the event of a dead letter can also be in a segment that was not settled.
            for (name, path, bytes) in listing.segments.sorted(by: { $0.name.lane < $1.name.lane }) {
                do throws(SegmentReader.Failure) {
                    if name.lane == .rejected {
                        letters.formUnion(try reader.readLetters(path, limit: bytes, name).letters.map(\.letter.id))
                    }
                    guard let found = try find(in: path, limit: bytes, name) else { continue }
                    try SegmentReader.Failure.converting { () throws(FileError) in
                        let replacement = path + InstanceDirectory.incompleteSuffix
                        try reader.files.replaceFile(path, by: found.rest, through: replacement)
                        if found.erased.count == found.contents.lines.count { try reader.files.removeFile(path) }
                    }
                    if name.lane == .rejected {
                        report.deadLetters += found.erased.count
                    } else {
                        report.events += count(found, in: name, except: letters)
                        damaged += found.contents.damaged
                    }
                } catch {
                    problems.add(error, in: directory.path)
                }
            }
            try reader.files.synchronizeDirectory(directory.path)
        } catch {
            report.left.append("\(directory.path): \(error)")
            isSafe = false
        }
        report.left += problems.texts
        directory.removeIfEmpty()
        return (report, damaged, isSafe && !problems.areDeliverable)
    }

    /// Counts erased events that are no dead letters.
    private func count(_ found: Finding, in name: SegmentName, except letters: Set<DeadLetter.ID>) -> Int {
        let rejected = found.contents.events(of: letters, in: name)
        return found.contents.places.indices.count {
            found.erased.contains(found.contents.places[$0]) && !rejected.contains($0)
        }
    }
}

/// The files in which nothing could be erased, one text for each directory.
struct EraserProblems {
    /// The first reason, and the number of files, by directory.
    private var problems: [String: (reason: String, count: Int)] = [:]
    /// Whether a store would deliver from one of the files.
    private(set) var areDeliverable = false

    mutating func add(_ failure: SegmentReader.Failure, in directory: String) {
        let reason: String
        switch failure {
        // Its events were delivered in the meantime.
        case .file(.noSuchFile), .file(.notADirectory): return
        case .file(let error):
            reason = "\(error)"
            areDeliverable = true
        case .encrypted(let error): reason = "can't be decrypted: \(error)"
        case .foreign: reason = "not a file of this user"
        }
        problems[directory, default: (reason, 0)].count += 1
    }

    var texts: [String] {
        problems.sorted { $0.key < $1.key }.map { directory, problem in
            let files = problem.count == 1 ? "a file" : "\(problem.count) files"
            return "\(directory): \(files) could not be read or replaced: \(problem.reason)"
        }
    }
}
