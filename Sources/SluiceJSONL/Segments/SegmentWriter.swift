internal import Sluice

/// The file that the lines of one lane are written to, one behind the other. This process has created it.
final class SegmentWriter {
    let name: SegmentName
    /// By the continuous clock.
    let created: Duration
    let directory: InstanceDirectory
    let path: String
    let file: OpenFile
    /// The size of a reused file that is longer than its lines: newlines follow them.
    private(set) var reservedBytes = 0
    /// When the last line may be appended, by the continuous clock.
    let deadline: Duration
    private let synchronizesEachWrite: Bool
    /// Whether each write is synchronized, and has failed to be.
    private(set) var isForsaken = false
    /// The complete lines in the file.
    private(set) var usage = Usage()
    var isSynchronized = true
    /// Bytes at the end of the file that were not accepted and could not be removed.
    private var refusedBytes = 0

    init(
        _ name: SegmentName, created: Duration, in directory: InstanceDirectory, _ configuration: Configuration,
        reusing spare: SpareFiles.Spare?, files: any FileSystem
    ) throws(FileError) {
        self.name = name
        self.created = created
        self.directory = directory
        deadline = created + configuration.segmentAge
        synchronizesEachWrite = configuration.synchronizesEachWrite(name.lane)
        path = directory.path(of: name)
        if let spare {
            try spare.rename(to: path, in: files)
            (file, reservedBytes) = (spare.file, spare.bytes)
        } else {
            file = try OpenFile(path, [.write, .read, .append, .create, .exclusive], in: files)
        }
    }

    /// Writes lines to the end of the file. If this throws, none of them counts.
    ///
    /// - Throws: ``FileError/noSuchFile`` if the directory was deleted or moved.
    func write(
        _ lines: LineBuffer, _ lineUsage: Usage, at now: Duration, _ directories: inout Directories
    ) throws(FileError) {
        var written = 0
        do throws(FileError) {
            // Before the write, because the file's number may be that of a file of the host by now.
            if directory.isGone(at: now) { throw .noSuchFile }
            try file.write(lines.bytes, at: name.isReused ? usage.fileBytes : nil, &written)
            if synchronizesEachWrite {
                isForsaken = true
                try file.synchronize()
                isForsaken = false
                if usage.fileBytes == 0 { try directories.synchronization.synchronizeEntries(in: directories.files) }
            }
        } catch {
            cutBack(by: written)
            throw error
        }
        usage = usage + lineUsage
        isSynchronized = synchronizesEachWrite
    }

    /// Removes bytes that were written but not accepted. Nothing more may be written to the file.
    private func cutBack(by written: Int) {
        guard written > 0 else { return }
        do throws(FileError) {
            if name.isReused { return try cutRest() }
            try file.truncate(to: max(0, size(behind: usage.fileBytes + written) - written))
        } catch {
            // This process reads the file only up to these bytes. The next process finds a torn line and counts it.
            refusedBytes = written
        }
    }

    /// Removes everything behind the accepted lines of a reused file.
    func cutRest() throws(FileError) {
        guard name.isReused else { return }
        try file.truncate(to: usage.fileBytes)
        reservedBytes = 0
    }

    /// The size of the file, which others may have changed; `expected` if it can't be read.
    private func size(behind expected: Int) -> Int {
        attempt(try file.status().size, or: expected)
    }

    /// Ends the writing. Returns the size up to the last accepted line.
    func seal() -> Int {
        guard name.isReused else { return max(0, size(behind: usage.fileBytes + refusedBytes) - refusedBytes) }
        let size = size(behind: usage.fileBytes)
        // If this fails, newlines stay, or a torn line. They are not read.
        if size > usage.fileBytes { _ = FileError.of(try cutRest()) }
        return min(size, usage.fileBytes)
    }

    /// Whether others have renamed or moved the file, or its directory.
    var isMoved: Bool { attempt(try !file.isAt(path), or: false) && attempt(try file.status().links, or: 0) > 0 }
}
