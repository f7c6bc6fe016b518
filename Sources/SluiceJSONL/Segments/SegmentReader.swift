internal import Sluice

/// Reads segments and counts damaged lines.
struct SegmentReader {
    enum Failure: Error {
        case file(FileError)
        /// The lines are undamaged, but can't be decrypted.
        case encrypted(any Error)
        /// Not a regular file, or not this user's.
        case foreign

        /// Returns the result of `body`, or throws its error as one of a file.
        static func converting<Result>(_ body: () throws(FileError) -> Result) throws(Failure) -> Result {
            do throws(FileError) { return try body() } catch { throw .file(error) }
        }
    }

    struct Contents {
        var lines: [EventLine] = []
        /// The places of these lines in the file.
        var places: [LinePlace] = []
        /// The number of damaged lines, including a torn one at the end.
        var damaged = 0
        /// The number of other lines: of events that need no further attempt, in a reused file of earlier segments, and of other
        /// programs.
        var skipped = 0

        /// The indices of the events of dead letters.
        func events(of letters: Set<DeadLetter.ID>, in segment: SegmentName) -> Set<Int> {
            Set(
                lines.indices.filter {
                    letters.contains(DeadLetter.ID(lines[$0].bytes, at: places[$0], in: segment))
                })
        }

        /// Removes events, and returns their places.
        mutating func remove(_ events: Set<Int>) -> [LinePlace] {
            let kept = lines.indices.filter { !events.contains($0) }
            defer { (lines, places) = (kept.map { lines[$0] }, kept.map { places[$0] }) }
            return events.map { places[$0] }
        }
    }

    let files: any FileSystem
    let encryption: LineEncryption?

    /// Reads the first `limit` bytes of a segment, from the file that this process has kept open if there is one.
    func read(
        _ path: String, from open: OpenFile? = nil, limit: Int, _ name: SegmentName
    ) throws(Failure) -> Contents {
        try contents(of: try bytes(of: path, from: open, limit: limit), name)
    }

    /// Finds the events in the bytes of a segment.
    func contents(of file: consuming [UInt8], _ name: SegmentName) throws(Failure) -> Contents {
        var contents = LineFormat.events(in: &file, seed: name.seed)
        contents.lines.reserveCapacity(contents.places.count)
        for place in contents.places {
            do {
                contents.lines.append(
                    EventLine(bytes: try event(in: file[place.event]), priority: name.lane.priority))
            } catch {
                throw .encrypted(error)
            }
        }
        return contents
    }

    /// Returns the event of a line. A plain line is the event.
    ///
    /// - Throws: an error if the line is encrypted and can't be decrypted.
    private func event(in line: ArraySlice<UInt8>) throws -> ArraySlice<UInt8> {
        // Its braces were checked with its checksum, and it ends before a newline.
        guard LineEncryption.isSealed(line) else { return line }
        let event = try LineEncryption.decrypted(line, encryption)
        guard LineFormat.canStore(event) else {
            throw SluiceError(.malformedLine, "the decrypted bytes are not an event: the key is a different one")
        }
        return event
    }

    /// Counts the events of a file, damaged or not, without the ones that need no further attempt.
    func countLines(_ path: String, limit: Int, _ name: SegmentName) throws(Failure) -> Int {
        var bytes = try bytes(of: path, limit: limit)
        let found = LineFormat.events(in: &bytes, seed: name.seed)
        return found.places.count + found.damaged
    }

    /// Reads the first `limit` bytes of a file.
    func bytes(of path: String, from open: OpenFile? = nil, limit: Int) throws(Failure) -> [UInt8] {
        if let bytes = open.flatMap({ read($0, at: path, limit: limit) }) { return bytes }
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

    /// Returns nil if others have closed the file, or may have put another one in its place.
    private func read(_ open: OpenFile, at path: String, limit: Int) -> [UInt8]? {
        guard let bytes = attempt(try open.read(upTo: limit), or: nil) else { return nil }
        return attempt(try open.size(ifOnlyAt: path), or: nil) == nil ? nil : bytes
    }
}

extension SegmentReader {
    struct Letters {
        /// Each letter with the place of its line in the file.
        var letters: [(place: LinePlace, letter: DeadLetter)] = []
        var damaged = 0
    }

    /// Reads the first `limit` bytes of a segment of dead letters.
    func readLetters(_ path: String, limit: Int, _ name: SegmentName) throws(Failure) -> Letters {
        let contents = try read(path, limit: limit, name)
        var result = Letters(damaged: contents.damaged)
        for (line, place) in zip(contents.lines, contents.places) {
            if let letter = DeadLetterLine.decoded(line.bytes) {
                result.letters.append((place, letter))
            } else {
                result.damaged += 1
            }
        }
        return result
    }
}
