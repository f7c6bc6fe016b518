internal import Sluice

/// The directory that the host passes to the store. Several processes may share it.
struct RootDirectory {
    let path: String
    let route: String
    let files: any FileSystem

    /// Creates the directory if it is missing, and checks its owner and permissions.
    ///
    /// - Throws: ``SluiceError/Code/storageUnavailable`` with advice; ``SluiceError/Code/invalidArgument`` for an invalid path.
    func prepare() throws(SluiceError) {
        try SluiceError.require(
            RouteName.suffix(for: route) != nil,
            "the name of the route is too long for a directory's name: \(route.prefix(20))…")
        try FilePath.require(path, "the store's directory")
        let status = try advising { () throws(FileError) in
            if let present = try files.statusIfPresent(of: path) { return present }
            try files.makeDirectories(path)
            return try files.status(of: path)
        }
        switch status.kind {
        case .directory: break
        case .symbolicLink:
            throw RootDirectory.unavailable(path, "is a symbolic link: use the directory that it leads to")
        case .file, .other:
            throw RootDirectory.unavailable(path, "is a file: use a directory, or a path where one can be created")
        }
        guard status.owner == files.userID else {
            throw RootDirectory.unavailable(
                path,
                "belongs to user \(status.owner), and this process is user \(files.userID): use its own directory")
        }
        guard status.mode & 0o002 == 0 else {
            throw RootDirectory.unavailable(path, "can be written to by everyone: chmod 700, or use another directory")
        }
    }

    /// The directories whose entries lead to the events, as far as a process of this user may have created these entries.
    /// That process may have ended before they were safe from a loss of power.
    var synchronizedDirectories: [String] {
        var directories = [path]
        for parent in FilePath.ancestors(of: path) {
            guard let last = directories.last, mayBeOwn(last) else { break }
            directories.append(parent)
        }
        return directories
    }

    /// Whether a directory can belong to this user: true if its status can't be read now.
    private func mayBeOwn(_ directory: String) -> Bool {
        do throws(FileError) {
            return try files.status(of: directory).owner == files.userID
        } catch {
            return error != .accessDenied && error != .notPermitted
        }
    }

    /// Returns the result of `body`, and adds advice to its error.
    func advising<Result>(_ body: () throws(FileError) -> Result) throws(SluiceError) -> Result {
        do throws(FileError) {
            return try body()
        } catch {
            throw unavailable(error)
        }
    }

    func unavailable(_ error: FileError) -> SluiceError {
        let isUnsynchronized = error == .invalidArgument || error == .notSupported
        let advice = "can't be synchronized there: use a local directory, or another durability"
        return RootDirectory.unavailable(path, isUnsynchronized ? advice : error.advice, error)
    }

    private static func unavailable(_ path: String, _ flaw: String, _ cause: FileError? = nil) -> SluiceError {
        SluiceError(.storageUnavailable, "the store's directory \"\(path)\" \(flaw)", cause: cause)
    }

    /// Lists the directories of processes that have events of this route, and the names that no store has made.
    func list() throws(FileError) -> (instances: [String], foreign: [String]) {
        let names = try files.list(path).sorted()
        return (
            names.filter { RouteName.route(ofDirectory: $0) == route }.map { "\(path)/\($0)" },
            names.filter { RouteName.route(ofDirectory: $0) == nil }
        )
    }
}
