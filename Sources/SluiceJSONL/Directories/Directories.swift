internal import Sluice

/// The directories of a store.
///
/// They are the root, the directory that this process writes to, the directories that it adopted from processes that
/// have ended, and the directories of other processes.
struct Directories {
    typealias Claim = (directory: InstanceDirectory, listing: InstanceDirectory.Listing)

    let configuration: Configuration
    let files: any FileSystem
    let environment: PipelineEnvironment
    var ownDirectory: InstanceDirectory?
    let root: RootDirectory
    /// The own directory and the adopted ones. With the last reference to a directory its lock is released.
    var claimed: [String: InstanceDirectory] = [:]
    /// They belong to processes that may end, or are too large or too many to adopt now.
    var otherDirectories: [String] = []
    /// The paths of files that don't belong to this store, until they are reported.
    var foreign: [String] = []
    var nextSequence: UInt64 = 0
    /// Erasures that are not complete, by directory: a running process uses it, or a file could not be read. The store
    /// adopts a directory only after they are complete.
    var lateErasures: [String: [@Sendable (EventLine) -> Bool]] = [:]
    /// The time of the last failed erasure, by directory.
    var failedErasures: [String: Duration] = [:]
    var synchronization = PendingSynchronization()
    var spares = SpareFiles()

    /// Each adopted directory keeps two files open.
    static let mostAdopted = 3
    /// An erasure reads all files of a directory.
    static let failedErasureInterval = Duration.seconds(60)

    init(_ configuration: Configuration, files: any FileSystem, in environment: PipelineEnvironment) {
        self.configuration = configuration
        self.files = files
        self.environment = environment
        root = RootDirectory(path: configuration.directory, route: configuration.route, files: files)
    }

    /// The reading of the continuous clock.
    var continuousTime: Duration { environment.time.continuousTime() }

    /// Makes sure that no other pipeline of this process uses the root for this route.
    func occupyRoot() throws(SluiceError) -> StorePlace {
        let status = try root.advising { () throws(FileError) in try files.status(of: root.path) }
        let place = StorePlace(root.path, status, configuration.route, in: files)
        try place.occupy(in: files)
        return place
    }

    /// The directories that this store uses.
    var claimedPaths: [String] { claimed.keys.sorted() }

    /// Returns the directories of this route that this store doesn't use.
    func unclaimed() throws(FileError) -> [String] { try root.list().instances.filter { claimed[$0] == nil } }

    /// Adds all directories in which this process may have removed files.
    mutating func addAllEntries() {
        for path in [root.path] + claimedPaths { synchronization.addEntries(of: path) }
    }

    /// Releases the locks of all directories. If events wait, the status stays with them: it has the last failure.
    mutating func close() {
        spares.removeAll(in: files)
        spares = SpareFiles()
        if let ownDirectory, ownDirectory.segments == 0 {
            files.discardFile(ownDirectory.statusPath)
            ownDirectory.removeIfEmpty()
        }
        ownDirectory = nil
        claimed = [:]
    }
}
