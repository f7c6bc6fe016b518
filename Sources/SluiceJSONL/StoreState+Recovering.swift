internal import Sluice
internal import SluiceFiles

extension StoreState {
    /// Takes over what dead processes left, as far as it fits, and makes sure that this one can write.
    ///
    /// One of their folders becomes this life's own, so that a host which is started often does not leave a folder each
    /// time. Of what they wrote, only the directories and the files' sizes are read.
    mutating func recover() throws(SluiceError) {
        let instances: [String]
        var foreign: [String]
        do throws(FileError) {
            (instances, foreign) = try root.list()
        } catch {
            throw root.unavailable(error)
        }
        var found: [Segment] = []
        var newest: Timestamp?
        for path in instances {
            do throws(FileError) {
                guard let folder = try InstanceFolder.claim(path, files: files) else {
                    others.append(path)
                    continue
                }
                let listing = try folder.listing(largest: configuration.largestSegment)
                foreign += listing.foreign.map { "\(path)/\($0)" }
                note(listing, newest: &newest)
                if home == nil {
                    settle(in: folder)
                } else if tally.fileBytes + listing.bytes > configuration.capacity {
                    // It does not fit now: left for other processes, or for when this one has delivered its own.
                    others.append(path)
                    continue
                }
                found += take(listing, of: folder)
            } catch {
                if error != .noSuchFile { foreign.append(path) }
            }
        }
        enlist(found)
        clock = StoreClock(
            configuration.environment.time, newest: newest, maximumAge: configuration.maximumAge)
        if let first = foreign.first {
            notes.append(
                "what is not this store's to read in its directory is left alone: \(foreign.count), as \(first)")
        }
        try checkHome()
        judgeAges()
        expire()
        evict(downTo: configuration.capacity, for: .critical)
    }

    /// When there is nothing else to deliver: takes over a folder whose process has died since, or which did not fit.
    ///
    /// - Returns: whether there is something to deliver now.
    mutating func adoptAnother() -> Bool {
        for path in others {
            do throws(FileError) {
                guard let folder = try InstanceFolder.claim(path, files: files) else { continue }
                let listing = try folder.listing(largest: configuration.largestSegment)
                guard tally.fileBytes == 0 || tally.fileBytes + listing.bytes <= configuration.capacity else {
                    continue
                }
                others.removeAll { $0 == path }
                var newest: Timestamp?
                note(listing, newest: &newest)
                enlist(take(listing, of: folder))
                judgeAges()
                evict(downTo: configuration.capacity, for: .critical)
                if tally.unreadBytes > 0 { return true }
            } catch {
                others.removeAll { $0 == path }
            }
        }
        return false
    }

    /// Sequence numbers go on from the highest there is: what is written later shall be delivered later.
    private mutating func note(_ listing: InstanceFolder.Listing, newest: inout Timestamp?) {
        for (name, _) in listing.segments {
            nextSequence = max(nextSequence, name.sequence + 1)
            if name.created != SegmentName.unknownTime { newest = max(newest ?? name.created, name.created) }
        }
    }

    private mutating func take(_ listing: InstanceFolder.Listing, of folder: InstanceFolder) -> [Segment] {
        folder.segments += listing.segments.count
        tally.fileBytes += listing.bytes
        tally.unreadBytes += listing.bytes
        if listing.segments.isEmpty, folder !== home { clearAway(folder) }
        return listing.segments.map { Segment($0.name, in: folder, fileBytes: $0.bytes) }
    }

    private mutating func enlist(_ segments: [Segment]) {
        for segment in segments.sorted(by: { $0.precedes($1) }) { insert(segment) }
    }

    /// Finds out at once, and not with the first event, that nothing can be written here.
    private mutating func checkHome() throws(SluiceError) {
        do throws(FileError) {
            let home = try homeFolder()
            let probe = SegmentName(priority: .normal, sequence: nextSequence, created: clock.stamp)
            _ = try OpenFile(home.path(of: probe), [.write, .create, .exclusive], in: files)
            try files.removeFile(home.path(of: probe))
        } catch {
            switch error {
            // It may pass, and what is stored already can be delivered meanwhile.
            case .noSpace, .quotaExceeded, .tooManyOpenFiles, .tooManyOpenFilesInSystem, .noMemory, .inputOutput:
                notes.append("nothing can be stored at present: \(error)")
            default: throw root.unavailable(error)
            }
        }
    }

    /// Removes an adopted folder; its dead letters move to this life's own.
    mutating func clearAway(_ folder: InstanceFolder) {
        if let home, folder !== home {
            deadLetters.adopt(from: folder, into: home, sequence: &nextSequence, files: files)
        }
        folder.removeIfEmpty()
    }
}
