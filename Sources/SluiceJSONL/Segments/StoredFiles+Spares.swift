internal import Sluice

/// The files of segments that are kept open. See ``SpareFiles``.
extension StoredFiles {
    /// Ends the reuse of files until the store is opened again: a drive that has failed can keep older bytes than it says.
    mutating func stopReusing() {
        directories.spares.isOn = false
        directories.spares.removeAll(in: files)
    }

    /// Closes the file that a segment has kept open: it is not reused.
    mutating func releaseFile(of segment: Segment) {
        if segment.file.take() != nil { directories.spares.release() }
    }

    /// Keeps a file for the next segment. If that has ended, only a file is kept that can't be removed.
    mutating func keep(_ spare: SpareFiles.Spare) {
        directories.spares.add(spare)
        if !directories.spares.isOn { directories.spares.removeAll(in: files) }
    }
}
