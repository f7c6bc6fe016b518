/// The file operations that everything durable in this package is built from.
///
/// ``SystemFileSystem`` is the real one. A test or a simulation replaces it: its files tear, lose bytes that were not
/// synchronized, and fail. So each requirement is one system call, with its failures and without a policy. Only interrupted
/// calls (`EINTR`) are repeated below it.
package protocol FileSystem: Sendable {
    /// Opens a file. A file that is created gets the permissions `mode`, before the umask.
    func openFile(_ path: String, _ options: OpenOptions, mode: UInt32) throws(FileError) -> FileDescriptor

    /// Closes a file, unless its descriptor now belongs to another file. The descriptor is invalid afterwards, even if the
    /// system returns an error.
    func closeFile(_ file: FileDescriptor)

    /// Writes once, and returns how many bytes were written: perhaps not all.
    func write(_ bytes: UnsafeRawBufferPointer, to file: FileDescriptor) throws(FileError) -> Int

    /// Writes once at an offset of a file that was not opened with ``OpenOptions/append``, and returns how many bytes were
    /// written. A single byte is written as a whole or not at all.
    func write(_ bytes: UnsafeRawBufferPointer, to file: FileDescriptor, at offset: Int) throws(FileError) -> Int

    /// Reads once at an offset; zero at the end of the file.
    func read(
        from file: FileDescriptor, into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(FileError) -> Int

    /// Returns when the contents, and as much of the metadata as it takes to read them, survive a loss of power.
    func synchronize(_ file: FileDescriptor) throws(FileError)

    /// Truncates a file.
    ///
    /// - Throws: ``FileError/badDescriptor`` if other code has closed it.
    func truncate(_ file: FileDescriptor, to size: Int) throws(FileError)

    /// The status of an open file.
    ///
    /// - Throws: ``FileError/badDescriptor`` if other code has closed it.
    func status(of file: FileDescriptor) throws(FileError) -> FileStatus

    /// The status of a path; for a symbolic link, of the link itself.
    func status(of path: String) throws(FileError) -> FileStatus

    /// The status of an entry of an open directory, which is at `path`. It takes half the time of a path. If other code has
    /// closed the directory, any status or error is possible: compare the directory's own status afterwards.
    func status(of name: String, in directory: FileDescriptor, at path: String) throws(FileError) -> FileStatus

    func removeFile(_ path: String) throws(FileError)

    func removeDirectory(_ path: String) throws(FileError)

    func makeDirectory(_ path: String, mode: UInt32) throws(FileError)

    /// The names in a directory, in no particular order, without `.` and `..`; a symbolic link is not followed.
    func list(_ path: String) throws(FileError) -> [String]

    func rename(_ path: String, to newPath: String) throws(FileError)

    /// Gives an open file another name.
    ///
    /// - Throws: ``FileError/noSuchFile`` if it was deleted.
    func link(_ file: FileDescriptor, at path: String) throws(FileError)

    /// Takes the exclusive advisory lock of this opening (`flock`). It ends with ``unlock(_:)``, or with the last descriptor
    /// of this opening: the child of a `fork` has descriptors of its own.
    ///
    /// - Returns: false if another opening holds it.
    func lock(_ file: FileDescriptor) throws(FileError) -> Bool

    /// Ends the lock of this opening for all its descriptors, in all processes.
    func unlock(_ file: FileDescriptor)

    /// Changes in the child of a `fork`.
    var processID: Int32 { get }

    /// Different after each restart of the machine; empty if it is unknown.
    var bootID: String { get }

    /// The effective user, who must own the files.
    var userID: UInt32 { get }

    /// The absolute path that relative paths start from.
    func currentDirectory() throws(FileError) -> String

    /// The size in bytes that no file of this process may exceed (`RLIMIT_FSIZE`).
    var maximumFileBytes: Int { get }

    /// Whether overwriting a file takes less time than creating one in the directory at `path`. It doesn't on file systems
    /// that copy on write, and on network drives.
    func overwritesInPlace(_ path: String) -> Bool

    /// Prepares an open file for being overwritten: ends ``OpenOptions/append``.
    ///
    /// - Returns: false if another opening of the file may exist, in any process. Its reader would see the new bytes.
    func makeOverwritable(_ file: FileDescriptor) throws(FileError) -> Bool
}

/// An open file of a ``FileSystem``.
package struct FileDescriptor: Sendable, Hashable {
    package let rawValue: CInt
    /// The device and inode detect that the host has closed the descriptor, and that its number belongs to another file.
    let device: UInt64
    /// Nil if it can change while the file is open.
    let inode: UInt64?

    package init(rawValue: CInt, device: UInt64 = 0, inode: UInt64? = nil) {
        self.rawValue = rawValue
        self.device = device
        self.inode = inode
    }
}

/// How a file is opened. Descriptors are always closed in a program that this process starts (`O_CLOEXEC`), and a
/// symbolic link as the last part of the path is always refused (`O_NOFOLLOW`).
package struct OpenOptions: OptionSet, Sendable, Hashable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }

    /// For writing; without it, for reading. Opening never blocks, whatever the path names.
    package static let write = OpenOptions(rawValue: 1)
    package static let append = OpenOptions(rawValue: 2)
    package static let create = OpenOptions(rawValue: 4)
    /// With ``create``: fails if the path is taken.
    package static let exclusive = OpenOptions(rawValue: 8)
    package static let directory = OpenOptions(rawValue: 16)
    /// With ``write``: for reading, too.
    package static let read = OpenOptions(rawValue: 32)
}

/// The parts of a file's status that this package reads.
package struct FileStatus: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        case file, directory, symbolicLink, other
    }

    package var kind: Kind
    /// The low twelve bits: permissions, and the bits above them.
    package var mode: UInt32
    package var owner: UInt32
    package var device: UInt64
    package var inode: UInt64
    package var links: Int
    package var size: Int

    package init(
        kind: Kind, mode: UInt32, owner: UInt32, device: UInt64, inode: UInt64, links: Int, size: Int
    ) {
        self.kind = kind
        self.mode = mode
        self.owner = owner
        self.device = device
        self.inode = inode
        self.links = links
        self.size = size
    }
}
