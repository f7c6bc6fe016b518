internal import Sluice
internal import SluiceFiles

/// Reads a segment back: what is whole, and how much is not.
struct SegmentReader {
    enum Failure: Error {
        case file(FileError)
        /// The lines are whole, but sealed with another key, or the key is out of reach.
        case sealed(any Error)
        /// Not a regular file, or not this user's.
        case foreign
    }

    struct Contents {
        var lines: [EventLine] = []
        /// Lines that are not what was written, a torn one at the end included.
        var damaged = 0
        var eventBytes = 0
    }

    let files: any FileSystem
    let sealing: LineSealing?

    /// - Parameter limit: how much of the file to read, in bytes.
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
            let line = try event(from: buffer[range])
            contents.eventBytes += line.count
            contents.lines.append(EventLine(bytes: line, priority: priority))
        }
        return contents
    }

    /// How many lines a segment has, whole or not; without looking at them.
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

    private func bytes(of path: String, limit: Int) throws(Failure) -> [UInt8] {
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

    private func event(from line: ArraySlice<UInt8>) throws(Failure) -> ArraySlice<UInt8> {
        guard LineSealing.isSealed(line) else { return line }
        do {
            guard let sealing else {
                throw SluiceError(.storageUnavailable, "it was sealed, and this store has no key: give it its sealing")
            }
            return try sealing.event(in: line)
        } catch {
            throw .sealed(error)
        }
    }
}
