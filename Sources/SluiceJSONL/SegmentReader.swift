internal import Sluice

/// Reads segments and counts damaged lines.
struct SegmentReader {
    enum Failure: Error {
        case file(FileError)
        /// The lines are undamaged, but can't be decrypted.
        case encrypted(any Error)
        /// Not a regular file, or not this user's.
        case foreign
    }

    struct Contents {
        var lines: [EventLine] = []
        /// The places of the undamaged lines in the file, without the checksum.
        var ranges: [Range<Int>] = []
        /// The number of damaged lines, including a torn one at the end.
        var damaged = 0
        /// The number of lines whose events need no further attempt.
        var settled = 0

        /// Removes the undamaged lines for whose index this returns false.
        mutating func keep(where isKept: (Int) -> Bool) {
            let kept = lines.indices.filter(isKept)
            guard kept.count < lines.count else { return }
            (lines, ranges) = (kept.map { lines[$0] }, kept.map { ranges[$0] })
        }
    }

    let files: any FileSystem
    let encryption: LineEncryption?

    /// Reads the first `limit` bytes of a segment.
    func read(_ path: String, limit: Int, _ lane: Lane) throws(Failure) -> Contents {
        var file = try bytes(of: path, limit: limit)
        var contents = Contents()
        let found = LineFormat.events(in: &file)
        (contents.ranges, contents.damaged, contents.settled) = (found.ranges, found.damaged, found.settled)
        contents.lines.reserveCapacity(contents.ranges.count)
        for range in contents.ranges {
            do {
                let event = try LineEncryption.event(in: file[range], encryption)
                contents.lines.append(EventLine(bytes: event, priority: lane.priority))
            } catch {
                throw .encrypted(error)
            }
        }
        return contents
    }

    /// Counts the lines of a file, damaged or not, without the ones whose events need no further attempt.
    func countLines(_ path: String, limit: Int) throws(Failure) -> Int {
        let bytes = try bytes(of: path, limit: limit)
        var count = 0
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].index(of: LineFormat.newline) ?? bytes.count
            if end > start, !bytes[start..<end].withUnsafeBytes(LineFormat.isSettled) { count += 1 }
            start = end + 1
        }
        return count
    }

    /// Reads the first `limit` bytes of a file.
    func bytes(of path: String, limit: Int) throws(Failure) -> [UInt8] {
        do throws(FileError) {
            let file = try OpenFile(path, [], in: files)
            let status = try file.status()
            if status.kind == .file, status.owner == files.userID {
                return try file.read(upTo: min(limit, status.size))
            }
        } catch {
            throw .file(error)
        }
        throw .foreign
    }
}

extension SegmentReader {
    struct Letters {
        /// Each letter with the place of its line in the file, including the newline.
        var letters: [(place: Range<Int>, letter: DeadLetter)] = []
        var damaged = 0
    }

    /// Reads the first `limit` bytes of a segment of dead letters.
    func readLetters(_ path: String, limit: Int) throws(Failure) -> Letters {
        let contents = try read(path, limit: limit, .rejected)
        var result = Letters(damaged: contents.damaged)
        for (line, range) in zip(contents.lines, contents.ranges) {
            if let letter = DeadLetterLine.decoded(line.bytes) {
                result.letters.append((range.lowerBound..<range.upperBound + LineFormat.overhead, letter))
            } else {
                result.damaged += 1
            }
        }
        return result
    }
}
