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
    private struct Memory {
        var value: Value
        var isLoaded: Bool
        /// The number of changes: so far, when a write was last begun, and when one last succeeded.
        var changes = 0
        var attempted = 0
        var saved = 0
        /// The bytes that all places have; nil if they are unknown. Not the value: texts can be equal and have other bytes.
        var written: [UInt8]?
        var writer: Task<Void, Never>?
        /// The last write has failed, and the failure was reported.
        var hasFailed = false
        var isFinished = false
        /// Decides whether the places may be used; nil before the plugin stands in a pipeline.
        var gate: StateGate?
    }

    private let places: StatePlaces<Value>
    private let initial: Value
    private let damaged: Value
    private let report: @Sendable (_ message: String) -> Void
    private let memory: Locked<Memory>
    /// For the places.
    private let turn = Turn()

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
    /// stay in memory. This holds for a state that you load in `Processor.prepare()`.
    ///
    /// - Throws: ``SluiceError/Code/otherVersion`` for a version that `Value` can't read, and an error of a place that
    ///   can't be read now. The stored state then stays as it is, changes are made in memory only, and a later call
    ///   retries it. ``SluiceError/Code/invalidPipeline`` if another plugin of the pipeline keeps the same item in the same
    ///   directory, and ``SluiceError/Code/invalidArgument`` for an item that can't be the name of a file.
    public func load() throws(SluiceError) { try load(behind: .current) }

    /// Does the same as ``load()``, behind another gate. Without a gate, the state is kept without consent.
    package func load(behind gate: StateGate?) throws(SluiceError) {
        try StateGate.current?.claim(places.names, for: self)
        memory.withLock { ($0.isFinished, $0.gate) = (false, gate) }
        gate?.add(self)
        let wasUsed = memory.withLock { $0.saved != 0 || $0.writer != nil }
        if let gate, gate.mustRemove || !gate.isOpen && wasUsed { _ = try remove(forgetting: false) }
        try loadOnce()
    }

    /// Whether the places may be used.
    private var isOpen: Bool { memory.withLock(\.gate)?.isOpen ?? true }

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

    private func loadIfPossible() {
        guard !memory.withLock(\.isLoaded) else { return }
        // load() and every write do the same, and throw or report its error.
        _ = SluiceError.of(try loadOnce())
    }

    private func loadOnce() throws(SluiceError) {
        guard !memory.withLock(\.isLoaded), isOpen else { return }
        var notes: [String] = []
        defer { for note in notes { report(note) } }
        try turn.take { () throws(SluiceError) in
            guard !memory.withLock(\.isLoaded) else { return }
            let found = try places.read(ifDamaged: damaged, &notes)
            memory.withLock { memory in
                memory.isLoaded = true
                memory.written = found.written.map(places.bytes)
                guard let stored = found.value else { return }
                if memory.changes == 0 { memory.value = stored } else { memory.value.merge(stored: stored) }
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
    /// reported.
    ///
    /// - Parameter body: Changes the value. It is called with a lock held, so it must not use this state.
    /// - Returns: The result of `body`.
    @discardableResult
    public func update<Result>(_ body: (inout Value) -> Result) -> Result {
        let (result, isFinished) = change { memory in
            let result = body(&memory.value)
            if isPersistent, !memory.isFinished { startWriter(&memory) }
            return (result, memory.isFinished)
        }
        if isFinished { writeOrReport() }
        return result
    }

    /// Changes the value in memory, and writes it before this method returns.
    ///
    /// ```swift
    /// try state.save { $0.launches = 0 }
    /// ```
    ///
    /// - Parameter body: Changes the value. It is called with a lock held, so it must not use this state.
    /// - Throws: An error of a place. The change stays in memory, and the next write includes it.
    public func save(_ body: (inout Value) -> Void) throws(SluiceError) {
        change { body(&$0.value) }
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
        change { body(&$0.value) }
        return writeOrReport()
    }

    /// Changes the value in memory. The next write includes the change.
    package func note(_ body: (inout Value) -> Void) {
        change { body(&$0.value) }
    }

    private func change<Result>(_ body: (inout Memory) -> Result) -> Result {
        loadIfPossible()
        return memory.withLock { memory in
            memory.changes += 1
            return body(&memory)
        }
    }

    // MARK: Writing

    /// Returns when everything that was changed before this call is stored, or its failure is reported. Call this in your
    /// plugin's `Processor.finish()`. A write that failed before is tried once more.
    ///
    /// ```swift
    /// await state.finish()
    /// ```
    public func finish() async {
        var next = memory.withLock { memory in
            memory.isFinished = true
            if isPersistent, memory.saved != memory.changes { startWriter(&memory) }
            return memory.writer
        }
        while let writer = next {
            await writer.value
            next = memory.withLock(\.writer)
        }
    }

    private func startWriter(_ memory: inout Memory) {
        guard memory.writer == nil else { return }
        memory.writer = Task.onOwnThread(priority: .utility) {
            var isDone = false
            while !isDone {
                self.writeOrReport()
                isDone = self.memory.withLock { memory in
                    guard memory.attempted == memory.changes else { return false }
                    memory.writer = nil
                    return true
                }
            }
        }
    }

    @discardableResult
    private func writeOrReport() -> Bool {
        do throws(SluiceError) {
            return try write()
        } catch {
            let isFirst = memory.withLock { memory in
                defer { memory.hasFailed = true }
                return !memory.hasFailed
            }
            if isFirst { report("the state can't be kept for the next launch: \(error)") }
            return false
        }
    }

    /// - Returns: False if the gate is closed.
    private func write() throws(SluiceError) -> Bool {
        guard isPersistent else { return true }
        memory.withLock { $0.attempted = $0.changes }
        try loadOnce()
        return try turn.take { () throws(SluiceError) in
            // If the gate was opened since, the stored value is not known yet. Who opens it calls `keep` afterwards.
            guard isOpen, memory.withLock(\.isLoaded) else { return false }
            // The last of several changes is in memory by now. After a failure it is unknown which places have it.
            let (value, changes, written) = memory.withLock { memory in
                defer { memory.written = nil }
                return (memory.value, memory.changes, memory.written)
            }
            let bytes = places.bytes(of: value)
            if bytes != written { try places.write(bytes) }
            memory.withLock { memory in
                (memory.written, memory.saved) = (bytes, changes)
                memory.hasFailed = false
            }
            return true
        }
    }
}

// MARK: Consent and erasure

extension PersistedState: KeptState {
    package var isWriting: Bool { memory.withLock { $0.writer != nil } }

    package func keep() {
        loadIfPossible()
        if memory.withLock({ $0.saved != $0.changes }) { writeOrReport() }
    }

    package func remove(forgetting: Bool) throws(SluiceError) -> Int {
        try turn.take { () throws(SluiceError) in
            memory.withLock { memory in
                memory.written = nil
                if forgetting { (memory.value, memory.isLoaded) = (initial, true) }
                // Otherwise the value must be stored when the gate is opened.
                memory.saved = forgetting ? memory.changes : -1
            }
            return try places.remove() ? 1 : 0
        }
    }
}
