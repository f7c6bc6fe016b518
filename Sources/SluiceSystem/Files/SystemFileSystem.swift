import SluiceEvents
import SluiceLibC

/// The operating system's files.
package struct SystemFileSystem: FileSystem {
    package var maximumFileBytes: Int

    package init() {
        occupyStandardDescriptors()
        var limit = rlimit()
        #if canImport(Glibc)
            let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
        #else
            let resource = RLIMIT_FSIZE
        #endif
        let isKnown = getrlimit(resource, &limit) == 0
        maximumFileBytes = isKnown ? Int(clamping: limit.rlim_cur) : .max
    }

    package func openFile(_ path: String, _ options: OpenOptions, mode: UInt32) throws(FileError) -> FileDescriptor {
        // A FIFO or a device under a file's name must not keep us waiting.
        var flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        flags |= options.contains(.write) ? options.contains(.read) ? O_RDWR : O_WRONLY : O_RDONLY
        if options.contains(.append) { flags |= O_APPEND }
        if options.contains(.create) { flags |= O_CREAT }
        if options.contains(.exclusive) { flags |= O_EXCL }
        if options.contains(.directory) { flags |= O_DIRECTORY }
        let file = try checked { open(path, flags, mode_t(truncatingIfNeeded: mode)) }
        guard file <= STDERR_FILENO else { return try identified(file) }
        // The host has closed this standard descriptor since it was occupied, or there is no /dev/null.
        defer {
            _ = close(file)
            occupyStandardDescriptors()
        }
        return try identified(try checked { fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) })
    }

    private func identified(_ file: CInt) throws(FileError) -> FileDescriptor {
        do throws(FileError) {
            let status = try FileStatus { fstat(file, &$0) }
            let inode = hasStableInode(file, status) ? status.inode : nil
            return FileDescriptor(rawValue: file, device: status.device, inode: inode)
        } catch {
            _ = close(file)
            throw error
        }
    }

    /// On Apple's platforms, FAT and exFAT number a file by its first cluster, which an empty one gets with its first write.
    private func hasStableInode(_ file: CInt, _ status: FileStatus) -> Bool {
        #if canImport(Darwin)
            var system = statfs()
            guard status.kind == .file, status.size == 0, fstatfs(file, &system) == 0 else { return true }
            let type = withUnsafeBytes(of: &system.f_fstypename) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            return type != "msdos" && type != "exfat"
        #else
            return true
        #endif
    }

    package func closeFile(_ file: FileDescriptor) {
        // A daemon closes all descriptors that it has inherited, and opens files of its own. These must not be closed.
        guard isOpen(file) else { return }
        // Not repeated after EINTR, because the number may already belong to another thread's file.
        _ = close(file.rawValue)
    }

    private func isOpen(_ file: FileDescriptor) -> Bool { FileError.of(try status(of: file)) != .badDescriptor }

    package func read(
        from file: FileDescriptor, into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(FileError) -> Int {
        try checked { pread(file.rawValue, buffer.baseAddress, buffer.count, off_t(offset)) }
    }

    package func write(_ bytes: UnsafeRawBufferPointer, to file: FileDescriptor) throws(FileError) -> Int {
        if maximumFileBytes < .max {
            // Otherwise the system would end the process with SIGXFSZ.
            guard try status(of: file).size + bytes.count <= maximumFileBytes else { throw .fileTooLarge }
        }
        return try checked { systemWrite(file.rawValue, bytes.baseAddress, bytes.count) }
    }

    package func write(
        _ bytes: UnsafeRawBufferPointer, to file: FileDescriptor, at offset: Int
    ) throws(FileError) -> Int {
        // SIGXFSZ, as above.
        guard offset <= maximumFileBytes - bytes.count else { throw .fileTooLarge }
        return try checked { pwrite(file.rawValue, bytes.baseAddress, bytes.count, off_t(offset)) }
    }

    package func synchronize(_ file: FileDescriptor) throws(FileError) {
        #if canImport(Darwin)
            // fsync there stops at the drive's cache.
            if fcntl(file.rawValue, F_FULLFSYNC) == 0 { return }
            _ = try checked { fsync(file.rawValue) }
        #else
            _ = try checked { fdatasync(file.rawValue) }
        #endif
    }

    package func truncate(_ file: FileDescriptor, to size: Int) throws(FileError) {
        _ = try status(of: file)
        _ = try checked { ftruncate(file.rawValue, off_t(size)) }
    }

    package func status(of file: FileDescriptor) throws(FileError) -> FileStatus {
        let status = try FileStatus { fstat(file.rawValue, &$0) }
        guard status.device == file.device, file.inode ?? status.inode == status.inode else { throw .badDescriptor }
        return status
    }

    package func status(of path: String) throws(FileError) -> FileStatus { try FileStatus { lstat(path, &$0) } }

    package func status(
        of name: String, in directory: FileDescriptor, at path: String
    ) throws(FileError) -> FileStatus {
        try FileStatus { fstatat(directory.rawValue, name, &$0, AT_SYMLINK_NOFOLLOW) }
    }

    /// Where a symbolic link leads.
    package func target(of link: String) throws(FileError) -> String {
        var bytes = [CChar](repeating: 0, count: 4_096)
        let count = try checked { readlink(link, &bytes, 4_096) }
        return String(decoding: bytes.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    package func removeFile(_ path: String) throws(FileError) {
        _ = try checked { unlink(path) }
    }

    package func removeDirectory(_ path: String) throws(FileError) {
        _ = try checked { rmdir(path) }
    }

    package func makeDirectory(_ path: String, mode: UInt32) throws(FileError) {
        _ = try checked { mkdir(path, mode_t(truncatingIfNeeded: mode)) }
    }

    package func list(_ path: String) throws(FileError) -> [String] {
        let directory = try openFile(path, .directory, mode: 0)
        guard let stream = fdopendir(directory.rawValue) else {
            let error = FileError(errno)
            closeFile(directory)
            throw error
        }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                guard errno == 0 else { throw FileError(errno) }
                return names
            }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
    }

    package func lock(_ file: FileDescriptor) throws(FileError) -> Bool {
        let failure = FileError.of(try checked { flock(file.rawValue, LOCK_EX | LOCK_NB) })
        if let failure, failure.code != EWOULDBLOCK { throw failure }
        return failure == nil
    }

    package func unlock(_ file: FileDescriptor) {
        if isOpen(file) { flock(file.rawValue, LOCK_UN) }
    }

    /// Waits for a millisecond, or until a signal arrives.
    package static func pause() {
        usleep(1_000)
    }

    package var processID: Int32 { CurrentProcess.id }

    package var bootID: String { SystemFileSystem.runOfMachine }

    private static let runOfMachine = readRunOfMachine()

    private static func readRunOfMachine() -> String {
        #if canImport(Darwin)
            var text = [UInt8](repeating: 0, count: 64)
            var count = text.count
            guard sysctlbyname("kern.bootsessionuuid", &text, &count, nil, 0) == 0 else { return "" }
        #else
            let file = "/proc/sys/kernel/random/boot_id"
            let text = attempt(try OpenFile(file, [], in: SystemFileSystem()).read(upTo: 64), or: [])
        #endif
        return String(decoding: text.prefix { $0 > UInt8(ascii: " ") }, as: UTF8.self)
    }

    package var userID: UInt32 { geteuid() }

    package func currentDirectory() throws(FileError) -> String {
        guard let path = getcwd(nil, 0) else { throw FileError(errno) }
        defer { free(path) }
        return String(cString: path)
    }

    package func rename(_ path: String, to newPath: String) throws(FileError) {
        _ = try checked { systemRename(path, newPath) }
    }

    package func link(_ file: FileDescriptor, at path: String) throws(FileError) {
        _ = try status(of: file)
        #if canImport(Darwin)
            var name = [CChar](repeating: 0, count: Int(MAXPATHLEN))
            _ = try checked { fcntl(file.rawValue, F_GETPATH, &name) }
            _ = try checked { linkat(AT_FDCWD, name, AT_FDCWD, path, 0) }
        #else
            let name = "/proc/self/fd/\(file.rawValue)"
            _ = try checked { linkat(AT_FDCWD, name, AT_FDCWD, path, AT_SYMLINK_FOLLOW) }
        #endif
    }
}

// In the type, its own methods of these names hide the system's.
private func systemWrite(_ file: CInt, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int { write(file, bytes, count) }

private func systemRename(_ path: String, _ newPath: String) -> CInt { rename(path, newPath) }

/// Repeats a call that a signal interrupted, and turns -1 into its error.
private func checked<Result: SignedInteger>(_ call: () -> Result) throws(FileError) -> Result {
    while true {
        let result = call()
        if result != -1 { return result }
        let code = errno
        if code != EINTR { throw FileError(code) }
    }
}

extension FileStatus {
    /// Asks the system, by one of its functions.
    fileprivate init(_ read: (inout stat) -> CInt) throws(FileError) {
        var status = stat()
        _ = try checked { read(&status) }
        let kind: Kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .file
            case S_IFDIR: .directory
            case S_IFLNK: .symbolicLink
            default: .other
            }
        self.init(
            kind: kind, mode: UInt32(status.st_mode) & 0o7777, owner: status.st_uid,
            device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(truncatingIfNeeded: status.st_ino),
            links: Int(status.st_nlink), size: Int(status.st_size))
    }
}
