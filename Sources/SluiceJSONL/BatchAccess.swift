internal import Sluice

/// Takes and settles batches. Reads and removes files without the lock.
struct BatchAccess: Sendable {
    private let access: StateAccess
    private let deadLetters: DeadLetterAccess
    private let erasures: ErasureAccess
    private let synchronizer: Synchronizer

    init(
        _ access: StateAccess, _ deadLetters: DeadLetterAccess, _ erasures: ErasureAccess, _ synchronizer: Synchronizer
    ) {
        self.access = access
        self.synchronizer = synchronizer
        self.deadLetters = deadLetters
        self.erasures = erasures
    }

    func next(_ size: BatchSize) throws(SluiceError) -> Batch? {
        var draft = BatchDraft(size)
        var (step, mustErase) = try access.perform { state throws(SluiceError) in
            (try state.begin(&draft), !state.stored.directories.lateErasures.isEmpty)
        }
        if mustErase, erasures.eraseLate(), case .done(nil) = step {
            step = try access.perform { state throws(SluiceError) in try state.begin(&draft) }
        }
        while true {
            switch step {
            case .done(let batch): return batch
            case .read(let segment, let unreadLetters):
                deadLetters.read(unreadLetters)
                // Without the lock: callers of append must not wait for a file to be read.
                let result = Result { () throws(SegmentReader.Failure) in
                    try access.reader.read(segment.path, limit: segment.fileBytes, segment.lane)
                }
                step = try access.perform { state throws(SluiceError) in try state.add(segment, result, to: &draft) }
            }
        }
    }

    // MARK: Parts

    /// Marks settled events in their files.
    func settle(_ places: [Int], of batch: Batch.ID) {
        do throws(SluiceError) {
            // An erasure replaces files, and would lose a mark that is made after it has read one.
            try deadLetters.turn.take { () throws(SluiceError) in
                let marks = try access.perform { $0.batches.settle(places, of: batch) }
                guard !marks.isEmpty else { return }
                var failure: FileError?
                for (segment, places) in marks {
                    do throws(FileError) {
                        // Without the lock: callers of append must not wait for the drive.
                        try mark(places, in: segment.path)
                    } catch {
                        if error != .noSuchFile { failure = error }
                    }
                }
                let isDue = access.use { [failure] in $0.marked(marks.map(\.segment), failure) }
                if isDue { synchronizer.follow(.afterInterval) }
            }
        } catch {
            // The store is closed, or a host's closure of an erasure has called this. A later process returns the events.
        }
    }

    private func mark(_ places: [Int], in path: String) throws(FileError) {
        let file = try OpenFile(path, .write, in: access.files)
        // Others may have cut the file. A write behind its end would lengthen it.
        let size = try file.status().size
        for place in places where place < size { try file.write(LineFormat.settledMark, at: place) }
        if access.configuration.isFull { try file.synchronize() }
    }

    // MARK: Settling

    func settle(_ batch: Batch.ID) throws(SluiceError) {
        let (segments, hasLetters) = try access.perform { state throws(SluiceError) in
            state.stored.removeUnremoved()
            let segments = try state.batches.settle(batch, in: &state.stored)
            return (segments, state.stored.isUnfinished)
        }
        var pending: [Segment] = []
        if hasLetters {
            deadLetters.finish()
            pending = access.use { state in
                state.stored.removeUnremoved()
                return segments.filter(state.stored.deadLetters.isPending)
            }
        }
        if let failure = remove(segments, except: pending) { throw failure }
    }

    /// Removes the files of retired segments.
    ///
    /// - Parameters:
    ///   - segments: retired segments.
    ///   - pending: the ones whose dead letters are not written yet. Their files stay.
    /// - Returns: why one of them is still there.
    private func remove(_ segments: [Segment], except pending: [Segment]) -> SluiceError? {
        // Without the lock: it takes a while to free a file's blocks.
        let removals = segments.map { segment in
            let mustStay = pending.contains { $0 === segment }
            return mustStay ? nil : Result { () throws(FileError) in try access.files.removeFile(segment.path) }
        }
        return access.use { state in
            defer { state.settled() }
            return zip(segments, removals).reduce(nil as SluiceError?) { failure, removal in
                state.stored.settled(removal.0, removal.1) ?? failure
            }
        }
    }
}
