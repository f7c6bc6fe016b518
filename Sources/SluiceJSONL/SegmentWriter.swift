internal import Sluice
internal import SluiceFiles

/// The file that the events of one priority are appended to. This process has created it.
final class SegmentWriter {
    let name: SegmentName
    /// In the time of ``StoreClock``.
    let created: Timestamp
    let directory: InstanceDirectory
    let file: OpenFile
    /// When the last event may be appended, by the continuous clock.
    let deadline: Duration
    /// The complete lines in the file.
    private(set) var usage = Usage()
    var isSynchronized = true

    init(
        _ name: SegmentName, created: Timestamp, in directory: InstanceDirectory, until deadline: Duration,
        files: any FileSystem
    ) throws(FileError) {
        self.name = name
        self.created = created
        self.directory = directory
        self.deadline = deadline
        file = try OpenFile(directory.path(of: name), [.write, .append, .create, .exclusive], in: files)
    }

    var path: String { directory.path(of: name) }

    /// Removes lines that were written but not accepted. Nothing more may be written to the file.
    func cutBack() {
        do throws(FileError) {
            // mutant: keep-short-write
            try file.truncate(to: usage.fileBytes)
        } catch {
            // This process reads the file only up to its usage. The next process finds a torn line and counts it.
        }
    }

    /// Counts lines that were written.
    func accept(_ lines: Usage, isSynchronized: Bool) {
        usage = usage + lines
        self.isSynchronized = isSynchronized
    }

    /// Whether someone has deleted the file. Writing to it still succeeds, without effect.
    var isDeleted: Bool {
        do throws(FileError) {
            return try file.status().links == 0
        } catch {
            return false
        }
    }
}
