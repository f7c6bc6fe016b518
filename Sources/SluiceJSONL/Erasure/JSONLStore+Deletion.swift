internal import Sluice

extension JSONLStore: UnreadDeleting {
    /// Deletes the waiting events and the ones that could not be read, and removes the files of settled batches that could not be
    /// removed before. It also deletes the events in directories of this route whose processes have ended.
    ///
    /// Lines are counted if the drive can read them, encrypted or not.
    package func deleteUnread() throws(SluiceError) -> ErasureReport {
        try erasureAccess.erase(where: nil)
    }
}
