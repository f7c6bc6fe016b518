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
        var hasMarks = false
        var (step, mustErase) = try access.perform { state throws(SluiceError) in
            (
                try state.batches.begin(&draft, &state.appenders, &state.stored),
                !state.stored.directories.lateErasures.isEmpty
            )
        }
        if mustErase, erasures.eraseLate(), case .done(nil) = step {
            step = try access.perform { state throws(SluiceError) in
                try state.batches.begin(&draft, &state.appenders, &state.stored)
            }
        }
        while true {
            switch step {
            case .done(let batch):
                if hasMarks { deadLetters.writeMarks() }
                return batch
            case .read(let segment, let file, let unreadLetters):
                deadLetters.read(unreadLetters)
                // Without the lock: callers of append must not wait for a file to be read.
                let result = Result { () throws(SegmentReader.Failure) in
                    try access.reader.read(segment.path, from: file, limit: segment.fileBytes, segment.name)
                }
                step = try access.perform { state throws(SluiceError) in
                    defer { hasMarks = !state.stored.marks.isEmpty }
                    return try state.batches.add(segment, result, to: &draft, &state.appenders, &state.stored)
                }
            }
        }
    }

    /// Marks settled events in their files.
    func settle(_ places: [Int], of batch: Batch.ID) {
        do throws(SluiceError) {
            try access.perform { $0.batches.settle(places, of: batch, in: &$0.stored) }
        } catch {
            // The store is closed. A later process returns the events.
        }
        deadLetters.writeMarks()
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
                return segments.map(\.segment).filter(state.stored.deadLetters.isPending)
            }
        }
        if let failure = remove(segments, except: pending) { throw failure }
    }

    /// Removes the files of retired segments, or makes them spare files.
    ///
    /// - Parameters:
    ///   - segments: retired segments.
    ///   - pending: the ones whose dead letters are not written yet. Their files stay.
    /// - Returns: why one of them is still there.
    private func remove(_ segments: [Batches.SettledSegment], except pending: [Segment]) -> SluiceError? {
        // Without the lock: it takes a while to free a file's blocks.
        let removals = segments.map { segment, file in
            let mustStay = pending.contains { $0 === segment }
            return mustStay ? nil : Result { () throws(FileError) in try remove(segment, file) }
        }
        return access.use { state in
            var failure: SluiceError?
            for ((segment, file), removal) in zip(segments, removals) {
                if file != nil { state.stored.directories.spares.release() }
                failure = state.stored.settled(segment, removal) ?? failure
            }
            state.settled()
            return failure
        }
    }

    /// Removes the file of a segment. Returns it if it can be reused.
    private func remove(_ segment: Segment, _ file: OpenFile?) throws(FileError) -> SpareFiles.Spare? {
        if let file {
            do throws(FileError) {
                let largest = access.configuration.segmentBytes.upperBound
                return try SpareFiles.Spare.make(of: file, at: segment.path, largest: largest, in: access.files)
            } catch {
                // It has its name, and is removed like any other one.
            }
        }
        try access.files.removeFile(segment.path)
        return nil
    }
}
