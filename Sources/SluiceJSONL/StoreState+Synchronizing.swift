internal import Sluice
internal import SluiceFiles

extension StoreState {
    /// What is to be synchronised while the lock is free.
    struct Unsynchronized {
        /// Nil: the segment is sealed.
        fileprivate var writers: [(lane: Int, writer: SegmentWriter, fileBytes: Int)] = []
        fileprivate var segments: [(segment: Segment, file: OpenFile)] = []
        fileprivate var directories: [String: Int] = [:]
        fileprivate let files: any FileSystem

        var isEmpty: Bool { writers.isEmpty && segments.isEmpty && directories.isEmpty }
    }

    struct Synchronized {
        fileprivate var failures: [ObjectIdentifier: FileError] = [:]
        fileprivate var failedDirectories: Set<String> = []
        fileprivate(set) var failure: FileError?
    }

    /// Collects what this life has written and not synchronised yet.
    ///
    /// - Parameter includingClosed: whether files are to be opened again for it.
    mutating func unsynchronized(includingClosed: Bool) -> Unsynchronized {
        var result = Unsynchronized(files: files)
        for lane in lanes.indices {
            if let writer = lanes[lane].writer, !writer.isSynchronized {
                result.writers.append((lane, writer, writer.fileBytes))
            }
            for segment in lanes[lane].sealed where !segment.isSynchronized && segment.condition != .done {
                do throws(FileError) {
                    if let file = segment.file {
                        result.segments.append((segment, file))
                    } else if includingClosed {
                        result.segments.append((segment, try OpenFile(segment.path, [], in: files)))
                    }
                } catch {
                    notes.append("a segment could not be made safe against a loss of power: \(segment.path) (\(error))")
                }
            }
        }
        result.directories = unsynchronizedDirectories
        return result
    }

    /// Notes what has become safe. What failed is never tried again on the same file: the system may have dropped the
    /// bytes and would report a success then.
    mutating func finish(_ work: Unsynchronized, _ outcome: Synchronized) {
        for (lane, writer, fileBytes) in work.writers {
            let error = outcome.failures[ObjectIdentifier(writer.file)]
            if lanes[lane].writer === writer {
                if error != nil || writer.fileBytes == fileBytes { writer.isSynchronized = true }
                if error != nil { closeWriter(lane) }
            } else if let segment = lanes[lane].sealed.first(where: { $0.name == writer.name }) {
                if error != nil || segment.fileBytes == fileBytes { markSynchronized(segment) }
            }
        }
        for (segment, _) in work.segments { markSynchronized(segment) }
        for (path, change) in work.directories where !outcome.failedDirectories.contains(path) {
            if unsynchronizedDirectories[path] == change { unsynchronizedDirectories.removeValue(forKey: path) }
        }
        if let failure = outcome.failure {
            notes.append("what was written could not be made safe against a loss of power: \(failure)")
        }
    }

    private func markSynchronized(_ segment: Segment) {
        segment.isSynchronized = true
        segment.file = nil
    }

    /// Whether the caller is to see to a synchronisation, one interval from now.
    mutating func scheduleSynchronization() -> Bool {
        guard configuration.interval != nil, !isSynchronizationScheduled, needsSynchronization else { return false }
        isSynchronizationScheduled = true
        return true
    }

    private var needsSynchronization: Bool {
        !unsynchronizedDirectories.isEmpty
            || lanes.contains { lane in
                lane.writer.map { !$0.isSynchronized } ?? false || lane.sealed.contains { $0.file != nil }
            }
    }

    /// For ``JSONLStore/Durability/full``, at once and with the lock held.
    mutating func synchronizeDirectories() throws(FileError) {
        for path in unsynchronizedDirectories.keys.sorted() {
            try files.synchronizeEntries(path)
            unsynchronizedDirectories.removeValue(forKey: path)
        }
    }
}

extension StoreState.Unsynchronized {
    /// Takes as long as the drive takes; touches nothing but the files.
    func synchronize() -> StoreState.Synchronized {
        var outcome = StoreState.Synchronized()
        for file in writers.map(\.writer.file) + segments.map(\.file) {
            do throws(FileError) {
                try file.synchronize()
            } catch {
                outcome.failures[ObjectIdentifier(file)] = error
                outcome.failure = error
            }
        }
        for path in directories.keys.sorted() {
            do throws(FileError) {
                try files.synchronizeEntries(path)
            } catch {
                outcome.failedDirectories.insert(path)
                outcome.failure = error
            }
        }
        return outcome
    }
}

extension FileSystem {
    /// As ``synchronizeDirectory(_:)``, but for what needs none: a directory that is gone, and one above the root that
    /// this user may not read. It was somebody else who made the entries in that.
    fileprivate func synchronizeEntries(_ path: String) throws(FileError) {
        do throws(FileError) {
            try synchronizeDirectory(path)
        } catch {
            guard error == .noSuchFile || error == .accessDenied || error == .notPermitted else { throw error }
        }
    }
}
