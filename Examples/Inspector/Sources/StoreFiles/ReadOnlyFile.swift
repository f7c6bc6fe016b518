#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A file or directory that could not be read.
package struct FileProblem: Error, Hashable, CustomStringConvertible {
    package let path: String
    private let code: CInt

    init(_ path: String, _ code: CInt = errno) {
        self.path = path
        self.code = code
    }

    /// Whether the file doesn't exist any more: the host has delivered it.
    package var isMissing: Bool { code == ENOENT || code == ENOTDIR }

    package var description: String {
        switch code {
        case EACCES, EPERM: "\(path) can't be read by this user: run this command as the user of the host"
        case ENOENT, ENOTDIR: "\(path) doesn't exist any more"
        case EFBIG: "\(path) is larger than any file of a store, and is not read"
        default: "\(path) can't be read: \(String(cString: strerror(code)))"
        }
    }
}

/// An open file or directory. Nothing in this module opens a file for writing.
package final class ReadOnlyFile {
    private let path: String
    private let descriptor: CInt

    /// Whether the store uses it again: empty lines follow its last line.
    var isReused: Bool { path.hasSuffix("-r.jsonl") }

    package init(_ path: String) throws(FileProblem) {
        self.path = path
        // A FIFO in place of the file would wait for a writer without O_NONBLOCK.
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { throw FileProblem(path) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileProblem(path) }
        guard status.st_mode & S_IFMT == S_IFDIR || status.st_size <= ReadOnlyFile.largest else {
            throw FileProblem(path, EFBIG)
        }
    }

    /// A store's largest file has two events of 512 MiB. A sparse file of any size costs nothing to make.
    private static let largest = 1 << 30

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Reads bytes from `offset` on.
    ///
    /// - Returns: The number of bytes, which is zero at the end of the file.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(FileProblem) -> Int {
        while true {
            let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
            if count >= 0 { return count }
            guard errno == EINTR else { throw FileProblem(path) }
        }
    }

    /// Whether a process holds the lock on this file.
    ///
    /// The question takes a shared lock for a few microseconds. A host that starts in this moment leaves the directory
    /// alone, and takes it over later.
    var isLocked: Bool {
        if flock(descriptor, LOCK_SH | LOCK_NB) == 0 {
            flock(descriptor, LOCK_UN)
            return false
        }
        return errno == EWOULDBLOCK
    }
}

/// The properties of a file that matter here.
struct FileStatus {
    enum Kind {
        case file
        case directory
        case other
    }

    let kind: Kind
    let size: Int
    /// Changes when the file is replaced or written to.
    let version: [Int]

    /// - Parameter followsLink: Whether a symbolic link counts as the file that it leads to.
    init(of path: String, followsLink: Bool = false) throws(FileProblem) {
        var status = stat()
        guard (followsLink ? stat(path, &status) : lstat(path, &status)) == 0 else { throw FileProblem(path) }
        switch status.st_mode & S_IFMT {
        case S_IFREG: kind = .file
        case S_IFDIR: kind = .directory
        default: kind = .other
        }
        size = Int(status.st_size)
        #if canImport(Darwin)
            let modified = status.st_mtimespec
        #else
            let modified = status.st_mtim
        #endif
        version = [size, Int(status.st_ino), modified.tv_sec, modified.tv_nsec]
    }
}

/// The names in a directory, in order.
func names(in path: String) throws(FileProblem) -> [String] {
    guard let stream = opendir(path) else { throw FileProblem(path) }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
}
