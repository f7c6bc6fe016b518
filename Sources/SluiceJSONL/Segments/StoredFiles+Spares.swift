internal import Sluice

/// The files of segments that are kept open. See ``SpareFiles``.
extension StoredFiles {
    /// Returns the file that a segment has kept open. It needs ``SpareFiles/release()``.
    func takeFile(of segment: Segment) -> OpenFile? {
        defer { segment.file = nil }
        return segment.file
    }

    /// Ends the reuse of files until the store is opened again: a drive that has failed can keep older bytes than it says.
    mutating func stopReusing() { directories.spares.end(in: files) }

    /// Closes the file that a segment has kept open: it is not reused.
    mutating func releaseFile(of segment: Segment) {
        if takeFile(of: segment) != nil { directories.spares.release() }
    }

    /// Keeps a file for the next segment. If that has ended, only a file is kept that can't be removed.
    mutating func keep(_ spare: SpareFiles.Spare) {
        directories.spares.add(spare)
        if !directories.spares.isOn { directories.spares.removeAll(in: files) }
    }
}
