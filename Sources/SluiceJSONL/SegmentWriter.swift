internal import Sluice

/// The file that the lines of one lane are appended to. This process has created it.
final class SegmentWriter {
    let name: SegmentName
    /// In the time of ``StoreClock``.
    let created: Timestamp
    let directory: InstanceDirectory
    let path: String
    private let file: OpenFile
    /// When the last line may be appended, by the continuous clock.
    let deadline: Duration
    private let synchronizesEachWrite: Bool
    /// The complete lines in the file.
    private(set) var usage = Usage()
    var isSynchronized = true
    /// Lines that were written but not accepted could not be removed.
    private var hasRefusedLines = false
    /// The last check of its place, and the time of the next one.
    private var checks = Duration.seconds(-1)..<Duration.zero

    init(
        _ name: SegmentName, created: Timestamp, in directory: InstanceDirectory, until deadline: Duration,
        synchronizesEachWrite: Bool, files: any FileSystem
    ) throws(FileError) {
        self.name = name
        self.created = created
        self.directory = directory
        self.deadline = deadline
        self.synchronizesEachWrite = synchronizesEachWrite
        path = directory.path(of: name)
        file = try OpenFile(path, [.write, .append, .create, .exclusive], in: files)
    }

    /// Writes lines to the end of the file. If this throws, none of them counts.
    ///
    /// - Throws: ``FileError/noSuchFile`` if the file or its directory was deleted, renamed or replaced.
    func write(
        _ lines: LineBuffer, _ lineUsage: Usage, at now: Duration, _ directories: inout Directories
    ) throws(FileError) {
        var written = 0
        do throws(FileError) {
            // Before the write, because the file's number may be that of a file of the host by now.
            if isGone(at: now) { throw .noSuchFile }
            try lines.write(to: file, &written)
            if synchronizesEachWrite {
                try file.synchronize()
                if usage.fileBytes == 0 { try directories.synchronizeEntries() }
            }
        } catch {
            cutBack(by: written)
            throw error
        }
        usage = usage + lineUsage
        isSynchronized = synchronizesEachWrite
    }

    /// Removes lines that were written but not accepted. Nothing more may be written to the file.
    private func cutBack(by written: Int) {
        guard written > 0 else { return }
        do throws(FileError) {
            // Others may have appended to the file, or have truncated it.
            let size = try file.status().size - written
            try file.truncate(to: size)
        } catch {
            // The next process finds a torn line and counts it.
            hasRefusedLines = true
        }
    }

    /// Whether others have deleted, renamed or replaced the file or its directory, or closed their descriptors. It is called
    /// before every write, and repeats the check after 1 ms.
    ///
    /// A check takes about as long as a write. Events that were written to a file before it was found to be gone are counted
    /// as vanished. Only a test's clock stands still between two writes, so the check is then made.
    private func isGone(at now: Duration) -> Bool {
        if now > checks.lowerBound, now < checks.upperBound { return false }
        checks = now..<now + .milliseconds(1)
        do throws(FileError) {
            if try directory.isDeleted() { return true }
            return try !file.isInPlace(path)
        } catch {
            // Ignore other errors: a write shows whether the file can be used.
            return [.noSuchFile, .notADirectory, .badDescriptor].contains(error)
        }
    }

    /// The size of the file up to its last accepted line, if others have appended to it by up to `largest` bytes.
    func fileBytes(largest: Int) -> Int {
        guard usage.count > 0, !hasRefusedLines else { return usage.fileBytes }
        do throws(FileError) {
            let size = try file.status().size
            return size > largest ? usage.fileBytes : max(size, usage.fileBytes)
        } catch {
            return usage.fileBytes
        }
    }
}
