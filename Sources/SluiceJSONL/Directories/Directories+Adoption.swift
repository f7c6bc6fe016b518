internal import Sluice

extension Directories {
    /// Claims the directories of processes that have ended, as far as their events fit into the capacity.
    ///
    /// One of them becomes the own directory. Otherwise a host that is started often would leave one each time. No file
    /// is read.
    mutating func claimAll() throws(SluiceError) -> [Claim] {
        (otherDirectories, foreign) = try root.advising { () throws(FileError) in try root.list() }
        var claims: [Claim] = []
        var room = Int.max
        while let claim = claimAnother(room: room) {
            claims.append(claim)
            room = min(room, configuration.capacity) - claim.listing.bytes
        }
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
                guard let directory = try InstanceDirectory(claiming: path, files: files) else { continue }
                let listing = try directory.listing(largest: configuration.largestSegment)
                guard listing.bytes <= room else { continue }
                otherDirectories.removeAll { $0 == path }
                foreign += (listing.foreign + listing.unknown).map { "\(path)/\($0)" }
                // New files must come after all known ones. No process has counted up to a higher number. Names after
                // it could not be read by later processes.
                let known = listing.segments.lazy.map(\.name.sequence).filter { $0 < SegmentName.maximumSequence / 2 }
                nextSequence = max(nextSequence, known.max().map { $0 + 1 } ?? 0)
                directory.startClock(environment.time, newest: listing.newest, configuration)
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
}
