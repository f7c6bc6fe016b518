public import Sluice

/// Taking and settling batches. It reads and removes files without the lock.
extension JSONLStore {
    /// Hands out the oldest segment of the highest priority as one batch, or several small ones together.
    ///
    /// ```swift
    /// let store = JSONLStore(at: stateDirectory)
    /// try store.open()
    /// while let batch = try store.nextBatch(BatchSize(events: 100, bytes: 1 << 20)) { try store.settle(batch.id) }
    /// ```
    ///
    /// Segments of one priority are joined, in their order, as long as all of their events fit into the requested size and
    /// into an eighth of the capacity. The open segment is closed for that. Later segments get the requested size, between 20 and 500
    /// events.
    ///
    /// - Throws: ``SluiceError/Code/inputOutput`` if a segment can't be read now. After three attempts it is skipped,
    ///   because it must not block later events. Its events then count as ``DropReason/unreadable``. The next call
    ///   retries it when nothing else waits, at most once a minute; delivery makes that call after the next event. If the
    ///   retry succeeds, its events count as recovered and come after later ones. Its file counts towards the capacity, is
    ///   evicted before the other files of its priority, and expires.
    public func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? {
        var draft = BatchDraft(size, joinedUpTo: access.configuration.batchBytes)
        var hasMarks = false
        var (step, mustErase) = try access.perform { state throws(SluiceError) in
            (
                try state.batches.begin(&draft, &state.appenders, &state.stored),
                !state.stored.directories.lateErasures.isEmpty
            )
        }
        if mustErase, erasureAccess.eraseLate(), case .done(nil) = step {
            step = try access.perform { state throws(SluiceError) in
                try state.batches.begin(&draft, &state.appenders, &state.stored)
            }
        }
        while true {
            switch step {
            case .done(let batch):
                if hasMarks { deadLetterAccess.writeMarks() }
                return batch
            case .read(let segment, let file, let unreadLetters):
                deadLetterAccess.read(unreadLetters)
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

    /// Marks delivered events in the batch's files: one byte for each, in place. They survive the failures that an event
    /// survives after ``append(_:)``.
    ///
    /// If an event can't be marked, the store reports a note, and a later process may deliver the event a second time.
    public func settle(_ places: [Int], of batch: Batch.ID) {
        // If the store is closed, a later process returns the events.
        _ = SluiceError.of(try access.perform { $0.batches.settle(places, of: batch, in: &$0.stored) })
        deadLetterAccess.writeMarks()
    }

    /// Removes the batch's files.
    ///
    /// - Throws: ``SluiceError/Code/inputOutput`` if a file can't be removed, or must stay because rejected events of the
    ///   batch can't be written. The store retries the removal. This process doesn't hand out its events a second time,
    ///   but a later one may.
    public func settle(_ batch: Batch.ID) throws(SluiceError) {
        if access.read(\.stored.isUnfinished) {
            deadLetterAccess.finish()
            access.use { $0.batches.settleBesideLetters(batch, in: &$0.stored) }
            deadLetterAccess.writeMarks()
        }
        let segments = try access.perform { state throws(SluiceError) in
            state.stored.removeUnremoved()
            return try state.batches.settle(batch, in: &state.stored)
        }
        if let failure = remove(segments) { throw failure }
    }

    /// Removes the files of retired segments, or makes them spare files. Files whose dead letters are not written yet stay.
    ///
    /// - Returns: why one of them is still there.
    private func remove(_ segments: [Batches.SettledSegment]) -> SluiceError? {
        // Without the lock: it takes a while to free a file's blocks.
        let removals = segments.map { segment, file, mustStay in
            mustStay ? nil : Result { () throws(FileError) in try remove(segment, file) }
        }
        return access.use { state in
            var failure: SluiceError?
            for ((segment, file, _), removal) in zip(segments, removals) {
                if file != nil { state.stored.directories.spares.release() }
                failure = state.stored.removed(segment, removal) ?? failure
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
