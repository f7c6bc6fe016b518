public import SluiceEvents

/// A plugin's state: in memory for `track`, and in a ``Persistence`` for the next launch.
///
/// ```swift
/// /// Adds the number of launches to every event.
/// final class LaunchCount: Processor {
///     struct Count: PersistedValue {
///         var launches = 0
///
///         init() {}
///
///         init?(_ object: Properties) {
///             guard case .int(let launches) = object["launches"] else { return nil }
///             self.launches = Int(launches)
///         }
///
///         var object: Properties { ["launches": .int(launches)] }
///
///         mutating func merge(stored: Count) { launches += stored.launches }
///     }
///
///     let context = PluginContext()
///     private let state: PersistedState<Count>
///
///     init(persistedIn persistence: Persistence) {
///         state = PersistedState("launch-count", in: persistence, initial: Count(), report: context.report)
///     }
///
///     func prepare() throws {
///         try state.load()
///         state.update { $0.launches += 1 }
///     }
///
///     func process(_ event: inout Event) -> Disposition {
///         event.properties["launches"] = .int(state.read(\.launches))
///         return .keep
///     }
///
///     func finish() async { await state.finish() }
/// }
/// ```
///
/// The state is read once: by ``load()``, or by its first use. ``update(_:)`` changes it in memory, and a thread of its
/// own writes it. Changes that come during a write are written together, and the last value wins. Use ``save(_:)`` for
/// a change that must be stored before your method returns. A value that hasn't changed isn't written.
///
/// ``Persistence`` describes the treatment of state that is damaged or can't be read.
///
/// You can call all methods from any thread. A write that has begun goes on when this object is released, and a `Pipeline`
/// that is released without a shutdown waits for it.
public final class PersistedState<Value: PersistedValue>: Sendable {
    struct Memory {
        var value: Value
        var isLoaded: Bool
        /// The number of changes: so far, and when a write last succeeded.
        var changes = 0
        var saved = 0
        /// The bytes that were read or written last, if any. Not the value: texts can be equal and have other bytes.
        var written: [UInt8]?
        /// Whether all places have them.
        var isEverywhere = false
        var writer: Task<Void, Never>?
        /// The last write has failed, and the failure was reported.
        var hasFailed = false
        var isFinished = false
        /// Decides whether the places may be used; nil before the plugin stands in a pipeline.
        var gate: StateGate?
        /// The gate of the pipeline in which the plugin stands, or stood last.
        var pipeline: StateGate?
    }

    let places: StatePlaces<Value>
    let initial: Value
    private let damaged: Value
    let report: @Sendable (_ message: String) -> Void
    let memory: Locked<Memory>
    /// For the places.
    let turn = Turn()

    /// Creates a state, which is read later.
    ///
    /// ```swift
    /// let state = PersistedState(
    ///     "launch-count", in: .file(stateDirectory), initial: LaunchCount.Count(), report: { print($0) })
    /// ```
    ///
    /// - Parameters:
    ///   - item: The name under which the state is kept, such as `launch-count`: letters, digits and hyphens. Choose one
    ///     that no other plugin has.
    ///   - persistence: Where the state is kept.
    ///   - initial: The state of a first launch.
    ///   - damaged: The state after damage. Nil: the initial one.
    ///   - report: Gets a message if the state is damaged or a write fails. Pass the
    ///     `report` of your plugin's `PluginContext`. It is called without a lock.
    public init(
        _ item: String, in persistence: Persistence, initial: Value, ifDamaged damaged: Value? = nil,
        report: @escaping @Sendable (_ message: String) -> Void
    ) {
        places = StatePlaces(item, in: persistence)
        self.initial = initial
        self.damaged = damaged ?? initial
        self.report = report
        memory = Locked(Memory(value: initial, isLoaded: places.isEmpty))
    }

    /// Whether the state is kept for the next launch: false with ``Persistence/memory``.
    ///
    /// ```swift
    /// if !state.isPersistent { print("the launches are counted from 0") }
    /// ```
    public var isPersistent: Bool { !places.isEmpty }

    // MARK: Reading

    /// Reads the stored state. Call this in your plugin's `Processor.prepare()`. A second call
    /// doesn't read it.
    ///
    /// ```swift
    /// try state.load()
    /// ```
    ///
    /// If the user's consent is missing in your plugin's chain, nothing is read or written until it is given. Changes
    /// stay in memory.
    ///
    /// The pipeline knows only the states that are loaded in `Processor.prepare()`. Others are stored without consent, stay after
    /// a denial, and neither `Pipeline.eraseEverything()` nor its report includes them.
    ///
    /// - Throws: ``SluiceError/Code/otherVersion`` for a version that `Value` can't read, and an error of a place that
    ///   can't be read now. The stored state then stays as it is, changes are made in memory only, and a later call
    ///   retries it. ``SluiceError/Code/invalidPipeline`` if another state of a living pipeline is the same item in the same
    ///   place, or this one stands behind two `Consent`s, and ``SluiceError/Code/invalidArgument`` for an item that can't be
    ///   the name of a file, or a directory that isn't a path.
    public func load() throws(SluiceError) { try load(behind: .current) }

    /// Does the same as ``load()``, behind another gate. Without a gate, the state is kept without consent.
    package func load(behind gate: StateGate?) throws(SluiceError) {
        let isNew = try StateGate.current?.claim(places.names, for: self, isGated: gate != nil) ?? false
        memory.withLock { memory in
            (memory.isFinished, memory.gate, memory.pipeline) = (false, gate, StateGate.current?.top)
            // Until now, other objects may have changed what is stored.
            if isNew { memory.isLoaded = places.isEmpty }
        }
        (gate ?? .current)?.add(self, isGated: gate != nil)
        let wasUsed = memory.withLock { $0.saved != 0 || $0.writer != nil }
        if let gate, gate.mustRemove || !gate.isOpen && wasUsed { _ = try remove(forgetting: false) }
        try loadOnce()
    }

    /// Whether the places may be used.
    var isOpen: Bool { memory.withLock(\.gate)?.isOpen ?? true }

    /// The value in memory: the initial one while the stored one can't be read.
    ///
    /// ```swift
    /// let launches = state.value.launches
    /// ```
    public var value: Value { read { $0 } }

    /// Reads a part of the value in memory, without copying all of it.
    ///
    /// ```swift
    /// let launches = state.read(\.launches)
    /// ```
    ///
    /// - Parameter body: Reads the value. It is called with a lock held, so it must not use this state.
    /// - Returns: The result of `body`.
    public func read<Result>(_ body: (Value) -> Result) -> Result {
        if let result = memory.withLock({ $0.isLoaded ? body($0.value) : nil }) { return result }
        loadIfPossible()
        return memory.withLock { body($0.value) }
    }

    /// Reads a part of the value, unless the stored one is unknown: behind a closed gate, or while it can't be read.
    ///
    /// A plugin that works with a copy of its state takes over the stored value with this.
    ///
    /// - Parameter body: Reads the value. It is called with a lock held, so it must not use this state.
    /// - Returns: The result of `body`; nil if the stored value is unknown.
    package func readIfLoaded<Result>(_ body: (Value) -> Result) -> Result? {
        loadIfPossible()
        return memory.withLock { $0.isLoaded ? body($0.value) : nil }
    }

    func loadIfPossible() {
        // load() and every write do the same, and throw or report its error.
        _ = SluiceError.of(try loadOnce())
    }

    func loadOnce() throws(SluiceError) {
        guard !memory.withLock(\.isLoaded), isOpen else { return }
        var notes: [String] = []
        defer { for note in notes { report(note) } }
        try turn.take { () throws(SluiceError) in
            guard !memory.withLock(\.isLoaded) else { return }
            let found = try places.read(ifDamaged: damaged, &notes)
            memory.withLock { memory in
                let known = memory.written
                (memory.isLoaded, memory.isEverywhere) = (true, found.isEverywhere)
                memory.written = found.value.map(places.bytes)
                if let known, known == memory.written { return }
                // What another object has stored since counts more than a change that could not be written.
                if known != nil || [0, memory.saved].contains(memory.changes) {
                    memory.value = found.value ?? initial
                } else if let stored = found.value {
                    memory.value.merge(stored: stored)
                }
            }
        }
    }

    // MARK: Changing

    /// Changes the value in memory, and writes it soon, on another thread.
    ///
    /// ```swift
    /// state.update { $0.launches += 1 }
    /// ```
    ///
    /// After ``finish()``, it is written before this method returns, because no later write may happen. A failure is
    /// reported. If another object stands in a pipeline with this place, nothing changes, and that is reported.
    ///
    /// - Parameter body: Changes the value. It is called with a lock held, so it must not use this state.
    /// - Returns: The result of `body`.
    @discardableResult
    public func update<Result>(_ body: (inout Value) -> Result) -> Result {
        do throws(SluiceError) {
            let (result, isFinished) = try change { memory in
                let result = body(&memory.value)
                if isPersistent, !memory.isFinished { startWriter(&memory) }
                return (result, memory.isFinished)
            }
            if isFinished { reportFailure(write) }
            return result
        } catch {
            reportFailure { () throws(SluiceError) in throw error }
            var copy = value
            return body(&copy)
        }
    }

    /// Changes the value in memory, and writes it before this method returns.
    ///
    /// ```swift
    /// try state.save { $0.launches = 0 }
    /// ```
    ///
    /// - Parameter body: Changes the value. It is called with a lock held, so it must not use this state.
    /// - Throws: An error of a place: the change stays in memory, and the next write includes it, unless another object has
    ///   stored a value before. ``SluiceError/Code/invalidPipeline`` if another object stands in a pipeline with this place:
    ///   nothing changes.
    public func save(_ body: (inout Value) -> Void) throws(SluiceError) {
        try change { body(&$0.value) }
        _ = try write()
    }

    /// Does the same as ``save(_:)``, and reports a failure instead of throwing it. Of several failures in a row, only the
    /// first one is reported.
    ///
    /// ```swift
    /// if !state.saveOrReport({ $0.launches = 0 }) { print("the next write includes the change") }
    /// ```
    ///
    /// - Parameter body: Changes the value. It is called with a lock held, so it must not use this state.
    /// - Returns: Whether the value is stored. False without the user's consent.
    @discardableResult
    public func saveOrReport(_ body: (inout Value) -> Void) -> Bool {
        reportFailure { () throws(SluiceError) in
            try change { body(&$0.value) }
            return try write()
        }
    }

    /// Changes the value in memory, unless another object has the place. The next write includes the change, or reports that.
    package func note(_ body: (inout Value) -> Void) { _ = SluiceError.of(try change { body(&$0.value) }) }

    /// A refused change must not stay in memory: the next write would include it.
    private func change<Result>(_ body: (inout Memory) -> Result) throws(SluiceError) -> Result {
        try requireFree()
        loadIfPossible()
        return memory.withLock { memory in
            memory.changes += 1
            return body(&memory)
        }
    }

    func requireFree() throws(SluiceError) {
        if isPersistent { try StateGate.requireFree(places.names, in: memory.withLock(\.pipeline)) }
    }
}
