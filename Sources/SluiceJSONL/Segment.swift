internal import Sluice
internal import SluiceFiles

/// A file that is no longer written to: one batch, and one unit of deletion. Belongs to the state that holds it.
final class Segment {
    enum Condition: Equatable {
        case waiting
        case handedOut
        /// Its events have been accounted for; what is left is a file that could not be removed or read.
        case done
    }

    let name: SegmentName
    /// Milliseconds in the time of ``StoreClock``. The name of an own segment may not tell it.
    let created: Int64
    let folder: InstanceFolder
    /// What of the file counts: beyond it may lie a torn line that could not be cut off.
    let fileBytes: Int
    var condition = Condition.waiting
    /// Nil: an earlier life wrote it, and nobody has looked inside yet.
    var events: Int?
    /// The events' own bytes, once they are counted.
    var eventBytes: Int
    /// Whether it need not, or must not, be synchronised any more.
    var isSynchronized: Bool
    /// Kept open while a synchronisation is due soon.
    var file: OpenFile?
    var readFailures = 0
    /// Whether its age can be told from its name.
    var hasPlausibleAge = true

    init(_ name: SegmentName, in folder: InstanceFolder, fileBytes: Int) {
        self.name = name
        created = name.created.milliseconds
        hasPlausibleAge = name.created != SegmentName.unknownTime
        self.folder = folder
        self.fileBytes = fileBytes
        eventBytes = 0
        isSynchronized = true
    }

    init(sealing writer: SegmentWriter) {
        name = writer.name
        created = writer.created.milliseconds
        folder = writer.folder
        fileBytes = writer.fileBytes
        events = writer.events
        eventBytes = writer.eventBytes
        isSynchronized = writer.isSynchronized
    }

    var path: String { folder.path(of: name) }

    /// Whether it comes before `other` within their priority. The folder decides between lives that ran side by side.
    func precedes(_ other: Segment) -> Bool {
        if name < other.name { return true }
        return name == other.name && folder.path < other.folder.path
    }
}
