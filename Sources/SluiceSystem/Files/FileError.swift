import SluiceLibC

/// An error of the operating system: an `errno`.
package struct FileError: Error, Sendable, Hashable {
    package let code: CInt

    package init(_ code: CInt) {
        self.code = code
    }

    package static let noSuchFile = FileError(ENOENT)
    package static let exists = FileError(EEXIST)
    package static let notADirectory = FileError(ENOTDIR)
    package static let tooManyLinks = FileError(ELOOP)
    package static let accessDenied = FileError(EACCES)
    package static let notPermitted = FileError(EPERM)
    package static let readOnly = FileError(EROFS)
    package static let stale = FileError(ESTALE)
    package static let badDescriptor = FileError(EBADF)
    package static let noSpace = FileError(ENOSPC)
    package static let fileTooLarge = FileError(EFBIG)
    package static let quotaExceeded = FileError(EDQUOT)
    package static let inputOutput = FileError(EIO)
    package static let tooManyOpenFiles = FileError(EMFILE)
    package static let tooManyOpenFilesInSystem = FileError(ENFILE)
    package static let noMemory = FileError(ENOMEM)
    package static let invalidArgument = FileError(EINVAL)
    package static let notSupported = FileError(ENOTSUP)

    /// Whether the process or the system lacks something that it may soon have: the error says nothing about the file.
    package var isPassing: Bool { [.tooManyOpenFiles, .tooManyOpenFilesInSystem, .noMemory].contains(self) }

    /// The end of a sentence about a path: why it can't be used, and how to solve that.
    package var advice: String {
        switch self {
        case .accessDenied, .notPermitted: "can't be written to by this user: chmod it, or use another one"
        case .readOnly: "can't be written to, because its file system is read-only: use another one"
        case .noSpace, .quotaExceeded: "is on a full disk: free some space"
        case .notADirectory: "has a file among its parents: use a path that consists of directories"
        case .tooManyLinks: "contains a symbolic link: use the path that it leads to"
        case .stale: "is gone, or another one is in its place: restore it, or restart without it"
        case _ where isPassing: "can't be opened now"
        default: "can't be used: check its drive and its path"
        }
    }
}

extension FileError: CustomStringConvertible {
    package var description: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard let base = buffer.baseAddress else { return "errno \(code)" }
            return strerror_r(code, base, buffer.count) == 0 ? String(cString: base) : "errno \(code)"
        }
    }
}
