internal import Sluice

/// Takes and settles batches. Reads and removes files without the lock.
struct BatchAccess: Sendable {
    private let access: StateAccess
    private let deadLetters: DeadLetterAccess
    private let erasures: ErasureAccess

    init(_ access: StateAccess, _ deadLetters: DeadLetterAccess, _ erasures: ErasureAccess) {
        self.access = access
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
        // Without the lock: it takes a while to free a file's blocks.
        let removals = segments.map { segment in
            let mustStay = pending.contains { $0 === segment }
            return mustStay ? nil : Result { () throws(FileError) in try access.files.removeFile(segment.path) }
        }
        let failure = access.use { state in
            defer { state.settled() }
            return zip(segments, removals).reduce(nil as SluiceError?) { failure, removal in
                state.stored.settled(removal.0, removal.1) ?? failure
            }
        }
        if let failure { throw failure }
    }
}
