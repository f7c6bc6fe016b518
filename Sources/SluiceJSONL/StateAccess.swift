internal import Sluice

/// The state of a store behind its lock. The host's code is called when the lock is free.
struct StateAccess: Sendable {
    let configuration: Configuration
    let files: any FileSystem
    private let state: Locked<StoreState>

    init(_ configuration: Configuration, files: any FileSystem) {
        self.configuration = configuration
        self.files = files
        state = Locked(StoreState(configuration, files: files))
    }

    var reader: SegmentReader { SegmentReader(files: files, encryption: configuration.encryption) }

    /// Returns a part of the state, whether the store is open or not.
    func read<Value>(_ body: (StoreState) -> Value) -> Value {
        state.withLock { body($0) }
    }

    /// Runs `body` on the open store.
    func perform<Result>(_ body: (inout StoreState) throws(SluiceError) -> Result) throws(SluiceError) -> Result {
        try use { state throws(SluiceError) in
            try state.enter()
            return try body(&state)
        }
    }

    /// Runs `body` with the lock held, and reports its notes afterwards.
    func use<Result, Failure: Error>(_ body: (inout StoreState) throws(Failure) -> Result) throws(Failure) -> Result {
        var hasNotes = false
        defer { if hasNotes { reportNotes() } }
        return try state.withLock { state throws(Failure) in
            defer {
                state.stored.reportUnread()
                hasNotes = !state.stored.notes.isEmpty
            }
            return try body(&state)
        }
    }

    private func reportNotes() {
        let (notes, observer) = state.withLock { ($0.stored.takeNotes(), $0.stored.observer) }
        for note in notes { observer.note(note) }
    }
}
