internal import Sluice
internal import SluiceFiles

/// The segment of one priority that is being appended to: a file that this life has created.
final class SegmentWriter {
    let name: SegmentName
    /// In the time of ``StoreClock``.
    let created: Timestamp
    let folder: InstanceFolder
    let file: OpenFile
    /// When nothing is to be appended any more, by the continuous clock.
    let deadline: Duration
    /// All of it whole lines.
    private(set) var fileBytes = 0
    private(set) var events = 0
    private(set) var eventBytes = 0
    var isSynchronized = true

    init(
        _ name: SegmentName, created: Timestamp, in folder: InstanceFolder, until deadline: Duration,
        files: any FileSystem
    ) throws(FileError) {
        self.name = name
        self.created = created
        self.folder = folder
        self.deadline = deadline
        file = try OpenFile(folder.path(of: name), [.write, .append, .create, .exclusive], in: files)
    }

    /// Writes whole lines to the end. On a throw nothing of them counts, and nothing more may be written here.
    func write(_ lines: [UInt8]) throws(FileError) {
        do throws(FileError) {
            try file.write(lines)
        } catch {
            cutBack()
            throw error
        }
    }

    /// Takes back what was written but not accepted.
    func cutBack() {
        do throws(FileError) {
            try file.truncate(to: fileBytes)
        } catch {
            // The reader of this life stops at fileBytes; that of the next one finds a torn line, and counts it.
        }
    }

    /// Counts what ``write(_:)`` has written.
    func accept(bytes: Int, events: Int, eventBytes: Int, isSynchronized: Bool) {
        fileBytes += bytes
        self.events += events
        self.eventBytes += eventBytes
        self.isSynchronized = isSynchronized
    }

    /// Whether someone has deleted the file: writes go on succeeding then, into nothing.
    var isDeleted: Bool {
        do throws(FileError) {
            return try file.status().links == 0
        } catch {
            return false
        }
    }
}
