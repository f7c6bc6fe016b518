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
    /// - Throws: ``FileError/noSuchFile`` if the file or its directory was deleted.
    func write(
        _ lines: LineBuffer, _ lineUsage: Usage, at now: Duration, _ directories: inout Directories
    ) throws(FileError) {
        do throws(FileError) {
            // Before the write, because the file's number may be that of a file of the host by now.
            if directory.isDeleted(at: now) { throw .noSuchFile }
            try lines.write(to: file)
            if synchronizesEachWrite {
                try file.synchronize()
                if usage.fileBytes == 0 { try directories.synchronizeEntries() }
            }
        } catch {
            cutBack()
            throw error
        }
        usage = usage + lineUsage
        isSynchronized = synchronizesEachWrite
    }

    /// Removes lines that were written but not accepted. Nothing more may be written to the file.
    private func cutBack() {
        do throws(FileError) {
            try file.truncate(to: usage.fileBytes)
        } catch {
            // This process reads the file only up to its usage. The next process finds a torn line and counts it.
        }
    }

    /// Whether others have deleted the file. Writing to it still succeeds, without effect.
    var isDeleted: Bool {
        do throws(FileError) {
            return try file.status().links == 0
        } catch {
            return false
        }
    }
}
