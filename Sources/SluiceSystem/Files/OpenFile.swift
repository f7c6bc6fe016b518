import SluiceEvents

/// An open file that is closed with its last reference.
///
/// So no thread can close a descriptor that another one uses, and its number can't be reused for another file while you
/// hold a reference.
package final class OpenFile: Sendable {
    package let descriptor: FileDescriptor
    private let fileSystem: any FileSystem
    // nonisolated(unsafe): a file is locked before other threads get it.
    /// The process that has locked the file.
    nonisolated(unsafe) private var locker: Int32?

    /// Opens a file. A file that is created gets the permissions `mode`.
    package init(
        _ path: String, _ options: OpenOptions, mode: UInt32 = 0o600, in fileSystem: any FileSystem
    ) throws(FileError) {
        self.fileSystem = fileSystem
        descriptor = try fileSystem.openFile(path, options, mode: mode)
    }

    deinit {
        // Closing alone would leave the lock to children of a fork. A child must not end the lock of its parent.
        if let locker, locker == fileSystem.processID { fileSystem.unlock(descriptor) }
        fileSystem.closeFile(descriptor)
    }

    /// Writes all bytes, in as many calls as necessary.
    package func write(_ bytes: ArraySlice<UInt8>) throws(FileError) {
        var written = 0
        try write(bytes, &written)
    }

    /// Writes all bytes, in as many calls as necessary, and adds their number to `written`, even if this throws. A file that was
    /// not opened with ``OpenOptions/append`` needs an offset.
    package func write(_ bytes: ArraySlice<UInt8>, at offset: Int? = nil, _ written: inout Int) throws(FileError) {
        // withUnsafeBufferPointer supports typed throws, withUnsafeBytes doesn't.
        try bytes.withUnsafeBufferPointer { buffer throws(FileError) in
            let bytes = UnsafeRawBufferPointer(buffer)
            var begin = 0
            while begin < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[begin...])
                let count =
                    if let offset {
                        try fileSystem.write(rest, to: descriptor, at: offset + begin)
                    } else {
                        try fileSystem.write(rest, to: descriptor)
                    }
                // A file that takes nothing would be written to endlessly.
                guard count > 0 else { throw .inputOutput }
                written += count
                begin += count
            }
        }
    }

    /// Reads up to `limit` bytes from the beginning.
    package func read(upTo limit: Int) throws(FileError) -> [UInt8] {
        var failure: FileError?
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            do throws(FileError) {
                while count < limit {
                    let free = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
                    let read = try fileSystem.read(from: descriptor, into: free, at: count)
                    if read == 0 { break }
                    count += read
                }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    package func synchronize() throws(FileError) {
        try fileSystem.synchronize(descriptor)
    }

    package func truncate(to size: Int) throws(FileError) {
        try fileSystem.truncate(descriptor, to: size)
    }

    package func status() throws(FileError) -> FileStatus {
        try fileSystem.status(of: descriptor)
    }

    /// Whether a path leads to this file.
    package func isAt(_ path: String) throws(FileError) -> Bool { try status(ifAt: path) != nil }

    /// The file's size; nil if `path` isn't its only name.
    package func size(ifOnlyAt path: String) throws(FileError) -> Int? {
        guard let status = try status(ifAt: path), status.links == 1 else { return nil }
        return status.size
    }

    private func status(ifAt path: String) throws(FileError) -> FileStatus? {
        guard let named = try fileSystem.statusIfPresent(of: path) else { return nil }
        let held = try status()
        return named.inode == held.inode && named.device == held.device ? held : nil
    }

    /// See ``FileSystem/makeOverwritable(_:)``.
    package func makeOverwritable() throws(FileError) -> Bool { try fileSystem.makeOverwritable(descriptor) }

    /// Gives the file a name, in place of a file that has it. The name and the contents then survive a loss of power.
    package func link(at path: String, through temporary: String) throws(FileError) {
        fileSystem.discardFile(temporary)
        // Others that open a file by its name, to synchronize it, have not found it.
        try synchronize()
        try fileSystem.link(descriptor, at: temporary)
        try fileSystem.rename(temporary, to: path)
        try fileSystem.synchronizeDirectory(FilePath.parent(of: path))
    }

    /// Locks the file. Call this before another thread gets it.
    ///
    /// - Returns: false if another opening holds the lock.
    package func lock() throws(FileError) -> Bool {
        guard try fileSystem.lock(descriptor) else { return false }
        locker = fileSystem.processID
        return true
    }

    /// Locks the file if its file system can do that. Returns false if another opening holds the lock, or if the file
    /// was removed.
    package func tryLock() -> Bool { attempt(try lock() && status().links > 0, or: true) }
}
