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
    var clock: StoreClock
    private(set) var ownDirectory: InstanceDirectory?
    private var root: RootDirectory
    /// The own directory and the adopted ones. With the last reference to a directory its lock is released.
    private var claimed: [String: InstanceDirectory] = [:]
    /// They belong to processes that may end, or are too large or too many to adopt now.
    private var otherDirectories: [String] = []
    /// The paths of files that don't belong to this store, until they are reported.
    private var foreign: [String] = []
    private(set) var nextSequence: UInt64 = 0
    /// Erasures that are not complete, by directory: a running process uses it, or a file could not be read. The store
    /// adopts a directory only after they are complete.
    private(set) var lateErasures: [String: [@Sendable (EventLine) -> Bool]] = [:]
    /// The time of the last failed erasure, by directory.
    private var failedErasures: [String: Duration] = [:]
    var synchronization = PendingSynchronization()

    /// Each adopted directory keeps two files open.
    private static let mostAdopted = 3
    /// An erasure reads all files of a directory.
    private static let failedErasureInterval = Duration.seconds(60)

    init(_ configuration: Configuration, files: any FileSystem, in environment: PipelineEnvironment) {
        self.configuration = configuration
        self.files = files
        self.environment = environment
        root = RootDirectory(configuration.directory, of: configuration.route, files: files)
        clock = StoreClock(environment.time, newest: nil, maximumAge: configuration.maximumAge)
    }

    /// The reading of the continuous clock.
    var continuousTime: Duration { environment.time.continuousTime() }

    // MARK: Recovery

    var rootPath: String { root.path }

    mutating func prepareRoot() throws(SluiceError) { try root.prepare() }

    /// Makes sure that no other pipeline of this process uses the root for this route.
    func occupyRoot() throws(SluiceError) -> StorePlace {
        let place: StorePlace
        do throws(FileError) {
            place = StorePlace(root.path, try files.status(of: root.path), configuration.route, in: files)
        } catch {
            throw root.unavailable(error)
        }
        try place.occupy(in: files)
        return place
    }

    /// Claims the directories of processes that have ended, as far as their events fit into the capacity.
    ///
    /// One of them becomes the own directory. Otherwise a host that is started often would leave one each time. No file
    /// is read.
    mutating func claimAll() throws(SluiceError) -> [Claim] {
        do throws(FileError) {
            (otherDirectories, foreign) = try root.list()
        } catch {
            throw root.unavailable(error)
        }
        var claims: [Claim] = []
        var room = Int.max
        while let claim = claimAnother(room: room) {
            claims.append(claim)
            room = min(room, configuration.capacity) - claim.listing.bytes
        }
        let created = claims.lazy.flatMap(\.listing.segments).map(\.name)
            .filter { $0.lane.holdsEvents && $0.created != SegmentName.unknownTime }.map(\.created)
        clock = StoreClock(
            environment.time, newest: created.max(), maximumAge: configuration.maximumAge)
        return claims
    }

    /// Whether no more directories can be adopted, although there are more.
    var isFull: Bool { claimed.count > Directories.mostAdopted && !otherDirectories.isEmpty }

    /// The adopted directory at this path.
    func adopted(_ path: String) -> InstanceDirectory? { path == ownDirectory?.path ? nil : claimed[path] }

    /// Claims another directory whose process has ended, or for which there was no room before. Its segments take at most
    /// `room` bytes.
    mutating func claimAnother(room: Int) -> Claim? {
        if isFull { return nil }
        for path in otherDirectories where lateErasures[path] == nil {
            do throws(FileError) {
                guard let directory = try InstanceDirectory.claim(path, files: files) else { continue }
                let listing = try directory.listing(largest: configuration.largestSegment)
                guard listing.bytes <= room else { continue }
                otherDirectories.removeAll { $0 == path }
                foreign += (listing.foreign + listing.unknown).map { "\(path)/\($0)" }
                continueSequence(after: listing)
                claimed[path] = directory
                if ownDirectory == nil { makeOwn(directory) }
                return (directory, listing)
            } catch {
                if error.isPassing { return nil }  // It is tried again with the next batch.
                if error == .badDescriptor { continue }  // So is a directory that is replaced now.
                otherDirectories.removeAll { $0 == path }
                if error != .noSuchFile { foreign.append(path) }
            }
        }
        return nil
    }

    /// The directories that this store uses.
    var claimedPaths: [String] { claimed.keys.sorted() }

    /// Returns the directories of this route that this store doesn't use.
    func unclaimed() throws(FileError) -> [String] { try root.list().instances.filter { claimed[$0] == nil } }

    /// Remembers an erasure of a directory, to repeat it when its process has ended or its files can be read.
    ///
    /// - Returns: false if this store uses the directory.
    mutating func eraseLater(in path: String, where isMatch: @escaping @Sendable (EventLine) -> Bool) -> Bool {
        guard claimed[path] == nil else { return false }
        lateErasures[path, default: []].append(isMatch)
        return true
    }

    /// The erasures to try now.
    var dueErasures: [String: [@Sendable (EventLine) -> Bool]] {
        lateErasures.filter { path, _ in
            failedErasures[path].map { continuousTime - $0 >= Directories.failedErasureInterval } ?? true
        }
    }

    /// Forgets the first erasures of a directory if they are complete.
    ///
    /// - Returns: whether to report that they aren't: once for each directory.
    mutating func erasedLate(_ count: Int, in path: String, isComplete: Bool) -> Bool {
        guard isComplete else { return failedErasures.updateValue(continuousTime, forKey: path) == nil }
        failedErasures[path] = nil
        lateErasures[path]?.removeFirst(count)
        if lateErasures[path]?.isEmpty == true { lateErasures[path] = nil }
        return false
    }

    /// Returns a message about the files that this store can't use, once.
    mutating func takeForeignNote() -> String? {
        guard let first = foreign.first else { return nil }
        defer { foreign = [] }
        return "this store leaves files alone that it can't use: \(foreign.count), such as \(first)"
    }

    /// New files must come after all known ones.
    private mutating func continueSequence(after listing: InstanceDirectory.Listing) {
        for sequence in listing.segments.map(\.name.sequence) {
            // No process has counted up to a higher number. Names after it could not be read by later processes.
            guard sequence < SegmentName.maximumSequence / 2 else { continue }
            nextSequence = max(nextSequence, sequence + 1)
        }
    }

    /// Finds out when the store is opened, not with the first event, whether files can be created and synchronized.
    ///
    /// - Returns: an error that may pass. Stored events can be delivered in the meantime.
    mutating func checkOwnDirectory() throws(SluiceError) -> FileError? {
        let adopted = ownDirectory
        do throws(FileError) {
            let directory = try makeOwnDirectory()
            let probe = SegmentName(.normal, sequence: nextSequence, created: clock.stamp)
            let file = try OpenFile(directory.path(of: probe), [.write, .create, .exclusive], in: files)
            let result = Result { () throws(FileError) in
                guard configuration.survivesPowerLoss else { return }
                try file.synchronize()
                try synchronizeEntries()
            }
            try files.removeFile(directory.path(of: probe))
            try result.get()
            return nil
        } catch {
            switch error {
            case .noSpace, .quotaExceeded, .tooManyOpenFiles, .tooManyOpenFilesInSystem, .noMemory, .inputOutput:
                return error
            case .exists: return nil  // So files can be created.
            default:
                guard adopted != nil else { throw root.unavailable(error) }
                // The fault may be that of the adopted directory alone.
                ownDirectory = nil
                return try checkOwnDirectory()
            }
        }
    }

    // MARK: The own directory

    /// Returns the directory that this process writes to, and creates it if necessary.
    mutating func makeOwnDirectory() throws(FileError) -> InstanceDirectory {
        if let ownDirectory { return ownDirectory }
        do throws(SluiceError) {
            try root.prepare()
        } catch {
            throw error.cause as? FileError ?? .notPermitted
        }
        let directory = try InstanceDirectory.create(
            in: root.path, of: configuration.route, random: environment.random, files: files)
        makeOwn(directory)
        return directory
    }

    /// The entries that lead to the directory may not survive a loss of power: another process may have
    /// created them, and ended.
    private mutating func makeOwn(_ directory: InstanceDirectory) {
        ownDirectory = directory
        claimed[directory.path] = directory
        for path in [directory.path] + root.synchronizedDirectories { synchronization.addEntries(of: path) }
    }

    /// Forgets the own directory if others have deleted it. Returns whether that is so.
    mutating func dropDeletedDirectory() -> Bool {
        guard let directory = ownDirectory, !directory.checkPresence() else { return false }
        ownDirectory = nil
        claimed[directory.path] = nil
        return true
    }

    mutating func makeSegment(_ lane: Lane, at now: Duration) throws(FileError) -> SegmentWriter {
        let directory = try makeOwnDirectory()
        // Only a foreign file can have the name: a few attempts are plenty.
        for _ in 0..<8 {
            let name = SegmentName(lane, sequence: makeSequence(), created: clock.stamp)
            do throws(FileError) {
                let writer = try SegmentWriter(
                    name, created: clock.now, in: directory, until: now + configuration.segmentAge,
                    synchronizesEachWrite: configuration.synchronizesEachWrite(lane), files: files)
                synchronization.addEntries(of: directory.path)
                if lane.holdsEvents { directory.segments += 1 }
                return writer
            } catch {
                if error != .exists { throw error }
            }
        }
        throw .exists
    }

    /// Adds all directories in which this process may have removed files.
    mutating func addAllEntries() {
        for path in [root.path] + claimed.keys.sorted() { synchronization.addEntries(of: path) }
    }

    /// Synchronizes the directories with new entries.
    mutating func synchronizeEntries() throws(FileError) {
        try synchronization.synchronizeEntries(in: files)
    }

    private mutating func makeSequence() -> UInt64 {
        defer { nextSequence &+= 1 }
        return nextSequence
    }

    /// Moves a file of dead letters to the own directory.
    ///
    /// - Returns: its name there.
    mutating func move(
        _ name: SegmentName, from directory: InstanceDirectory, to own: InstanceDirectory
    ) throws(FileError) -> SegmentName {
        var newName = name
        while try files.statusIfPresent(of: own.path(of: newName)) != nil {
            newName = SegmentName(name.lane, sequence: makeSequence(), created: name.created)
        }
        try files.rename(directory.path(of: name), to: own.path(of: newName))
        synchronization.addEntries(of: own.path)
        return newName
    }

    /// Counts a removed segment.
    ///
    /// - Returns: its directory, if it was the last one with events of an adopted directory.
    func removed(_ segment: Segment) -> InstanceDirectory? {
        guard segment.lane.holdsEvents, let directory = claimed[segment.directory] else { return nil }
        directory.segments -= 1
        return directory.segments == 0 && directory !== ownDirectory ? directory : nil
    }

    /// Removes a directory if nothing is left in it. Its lock is released in any case.
    mutating func clearAway(_ directory: InstanceDirectory) {
        claimed[directory.path] = nil
        directory.removeIfEmpty()
    }

    /// Continues the order of the parent process, which keeps its directories.
    mutating func resumeAfterFork(of parent: Directories) {
        clock = parent.clock
        nextSequence = parent.nextSequence
    }

    /// Releases the locks of all directories.
    mutating func close() {
        if let ownDirectory {
            files.discardFile(ownDirectory.statusPath)
            if ownDirectory.segments == 0 { ownDirectory.removeIfEmpty() }
        }
        ownDirectory = nil
        claimed = [:]
    }
}
