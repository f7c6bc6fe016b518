internal import Sluice

/// The state of a store behind its lock. The host's code is called when the lock is free.
struct StateAccess: Sendable {
    let configuration: Configuration
    let files: any FileSystem
    /// The clock of the pipeline that has opened the store, to be read without the lock.
    private let clock = Published(Clock(PipelineEnvironment.systemTime))
    private let state: Locked<StoreState>

    private final class Clock: Sendable {
        private let source: any TimeSource

        init(_ source: any TimeSource) { self.source = source }

        var now: Duration { source.continuousTime() }
    }

    init(_ configuration: Configuration, files: any FileSystem) {
        self.configuration = configuration
        self.files = files
        state = Locked(StoreState(configuration, files: files))
    }

    var environment: PipelineEnvironment { read(\.stored.directories.environment) }

    /// The reading of the continuous clock.
    var now: Duration { clock.read(\.now) }

    var reader: SegmentReader { SegmentReader(files: files, encryption: configuration.encryption) }

    /// Opens the store with the clocks and random numbers of `environment`.
    func open(_ observer: StoreObserver, in environment: PipelineEnvironment) throws(SluiceError) {
        try use { state throws(SluiceError) in
            try state.open(observer, in: environment)
            clock.replace(with: Clock(environment.time))
        }
    }

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
        let (notes, observer) = state.withLock { (exchange(&$0.stored.notes, with: []), $0.stored.observer) }
        for note in notes { observer.note(note) }
    }
}
