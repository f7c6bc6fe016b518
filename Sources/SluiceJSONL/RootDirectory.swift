internal import Sluice
internal import SluiceFiles

/// The directory that a host gives to the store, and that may be shared by several processes.
struct RootDirectory {
    private(set) var path: String
    private let files: any FileSystem

    init(_ path: String, files: any FileSystem) {
        self.path = path
        self.files = files
    }

    /// Makes sure that the directory is there, and ours.
    ///
    /// - Throws: ``SluiceError/Code/storageUnavailable`` with what to do about it.
    mutating func prepare() throws(SluiceError) {
        if let flaw = FilePath.flaw(of: path) { throw RootDirectory.unavailable(path, flaw) }
        do throws(FileError) {
            path = try FilePath.normalized(path, in: files)
        } catch {
            throw RootDirectory.unavailable(
                path, "is relative, and the working directory cannot be found: give an absolute path", error)
        }
        let status: FileStatus
        do throws(FileError) {
            do throws(FileError) {
                status = try files.status(of: path)
            } catch {
                guard error == .noSuchFile else { throw error }
                try files.makeDirectories(path)
                status = try files.status(of: path)
            }
        } catch {
            throw unavailable(error)
        }
        switch status.kind {
        case .directory: break
        case .symbolicLink:
            throw RootDirectory.unavailable(path, "is a symbolic link: give the directory that it leads to")
        case .file, .other:
            throw RootDirectory.unavailable(path, "is a file: give a directory, or a path where one can be made")
        }
        guard status.owner == files.userID else {
            throw RootDirectory.unavailable(
                path,
                "belongs to user \(status.owner), and this process is user \(files.userID): "
                    + "give a directory of the latter")
        }
        guard status.mode & 0o002 == 0 else {
            throw RootDirectory.unavailable(path, "may be written to by everyone: chmod 700, or give another directory")
        }
    }

    func unavailable(_ error: FileError) -> SluiceError {
        let advice =
            switch error {
            case .accessDenied, .notPermitted: "may not be written to by this user: chmod it, or give another directory"
            case .readOnly: "is on a read-only file system: give a directory elsewhere"
            case .notADirectory: "has a file among its parents: give a path that consists of directories"
            case .tooManyLinks: "has a symbolic link where none may be: give the directory that it leads to"
            case .noSpace, .quotaExceeded: "is on a full file system: free some space"
            default: "cannot be used: give a local directory that this user may write to"
            }
        return RootDirectory.unavailable(path, advice, error)
    }

    private static func unavailable(_ path: String, _ what: String, _ cause: FileError? = nil) -> SluiceError {
        SluiceError(.storageUnavailable, "the store's directory \"\(path)\" \(what)", cause: cause)
    }

    /// The instances' folders in the order of their names, and what else is there.
    func list() throws(FileError) -> (instances: [String], foreign: [String]) {
        let names = try files.list(path).sorted()
        return (
            names.filter { EventID($0) != nil }.map { "\(path)/\($0)" },
            names.filter { EventID($0) == nil }
        )
    }
}
