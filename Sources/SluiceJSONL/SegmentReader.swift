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
        /// The number of damaged lines, including a torn one at the end.
        var damaged = 0
    }

    let files: any FileSystem
    let encryption: LineEncryption?

    /// Reads the first `limit` bytes of a segment.
    func read(_ path: String, limit: Int, priority: Event.Priority) throws(Failure) -> Contents {
        var buffer = try bytes(of: path, limit: limit)
        var ranges: [Range<Int>] = []
        var contents = Contents()
        var start = 0
        while start < buffer.count {
            guard let length = LineFormat.newlineIndex(in: buffer[start...]) else {
                contents.damaged += 1
                break
            }
            if let range = LineFormat.event(in: &buffer, at: start..<start + length) {
                ranges.append(range)
            } else if length > 0 {
                contents.damaged += 1
            }
            start += length + 1
        }
        contents.lines.reserveCapacity(ranges.count)
        for range in ranges {
            let line: ArraySlice<UInt8>
            do {
                line = try LineEncryption.event(in: buffer[range], encryption)
            } catch {
                throw .encrypted(error)
            }
            contents.lines.append(EventLine(bytes: line, priority: priority))
        }
        return contents
    }

    /// Counts the lines of a file, damaged or not.
    func countLines(_ path: String, limit: Int) throws(Failure) -> Int {
        let bytes = try bytes(of: path, limit: limit)
        var count = 0
        var start = 0
        while start < bytes.count {
            let length = LineFormat.newlineIndex(in: bytes[start...]) ?? bytes.count - start
            if length > 0 { count += 1 }
            start += length + 1
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
