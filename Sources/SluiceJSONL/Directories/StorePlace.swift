internal import Sluice

/// A directory that a pipeline of this process uses for a route.
///
/// A second store there would get the events of the first one in the next process, or the other way round, although they can
/// be for another receiver.
struct StorePlace: Sendable, Equatable {
    private static let occupied = Locked<[StorePlace]>([])
    /// A pipeline that was released without a shutdown closes its store when the last use has ended: milliseconds later.
    private static let longestWait = 100

    private let path: String
    private let route: String
    private let device: UInt64
    private let inode: UInt64
    private let process: Int32

    init(_ path: String, _ status: FileStatus, _ route: String, in files: any FileSystem) {
        (self.path, self.route, process) = (path, route, files.processID)
        (device, inode) = (status.device, status.inode)
    }

    /// Occupies this place until ``leave()``.
    ///
    /// - Throws: ``SluiceError/Code/invalidPipeline`` if another store has it.
    func occupy(in files: any FileSystem) throws(SluiceError) {
        var deleted: [StorePlace] = []
        for _ in 0..<StorePlace.longestWait {
            let other = StorePlace.occupied.withLock { occupied -> StorePlace? in
                let other = occupied.first { $0.route == route && isBeside($0) && !deleted.contains($0) }
                if other == nil { occupied.append(self) }
                return other
            }
            guard let other else { return }
            // Not under the lock, because a disk can hang.
            if other.isThere(in: files) { SystemFileSystem.pause() } else { deleted.append(other) }
        }
        throw SluiceError(
            .invalidPipeline,
            "another pipeline of this process has a JSONLStore in \"\(path)\" for a route called \"\(route)\": use another "
                + "directory or another name, or shut that pipeline down before")
    }

    func leave() {
        StorePlace.occupied.withLock { $0.removeAll { $0 == self } }
    }

    /// The routes that pipelines of this process use the directory for.
    var routes: Set<String> { StorePlace.occupied.withLock { Set($0.filter(isBeside).map(\.route)) } }

    private func isBeside(_ other: StorePlace) -> Bool {
        (process, device, inode) == (other.process, other.device, other.inode)
    }

    /// Whether the path still leads to this directory. The number of a deleted one can be that of a new one.
    private func isThere(in files: any FileSystem) -> Bool {
        let status = attempt(try files.status(of: path), or: nil)
        return status?.device == device && status?.inode == inode
    }
}
