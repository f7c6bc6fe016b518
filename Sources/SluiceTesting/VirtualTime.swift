public import Sluice

/// Clocks that stand still until you move them. A test can let hours pass, and repeats exactly.
///
/// ```swift
/// let time = VirtualTime()
/// let pipeline = try Pipeline(environment: PipelineEnvironment(time: time)) {
///     MemoryStore()
///     ScriptedTransport()
/// }
/// pipeline.track("Purchase")
/// time.advance(by: .seconds(15))
/// ```
///
/// You can use it from any thread.
public final class VirtualTime: TimeSource {
    private struct Sleeper {
        let id: UInt64
        let deadline: Duration
        let continuation: AsyncStream<Void>.Continuation
    }

    private struct State {
        var wall: Timestamp
        var suspending = Duration.zero
        var continuous = Duration.zero
        var sleepers: [Sleeper] = []
        var lastID: UInt64 = 0
    }

    private let state: Watched<State>

    /// Creates clocks. The wall clock starts at `wallTime`, and the monotonic clocks start at zero.
    ///
    /// - Parameter wallTime: The first wall time, 2026-01-01T00:00:00.000Z by default.
    public init(wallTime: Timestamp = Timestamp(milliseconds: 1_767_225_600_000)) {
        state = Watched(State(wall: wallTime))
    }

    // MARK: Moving the clocks

    /// Advances all three clocks. Sleepers are woken in the order of their deadlines, after the clocks have moved.
    public func advance(by duration: Duration) {
        pass(duration, suspended: false)
    }

    /// Advances the wall clock and the continuous clock, as if the machine slept.
    ///
    /// ```swift
    /// time.suspendMachine(for: .seconds(3_600))  // The suspending clock stands still.
    /// ```
    public func suspendMachine(for duration: Duration) {
        pass(duration, suspended: true)
    }

    /// Sets the wall clock, as a user or the network can. The monotonic clocks don't change.
    public func setWallTime(_ time: Timestamp) {
        state.update { $0.wall = time }
    }

    /// Advances to the earliest deadline, if there is a sleeper.
    public func advanceToNextSleeper() {
        let wait = state.read { state in state.sleepers.map(\.deadline).min().map { $0 - state.continuous } }
        if let wait { advance(by: wait) }
    }

    private func pass(_ duration: Duration, suspended: Bool) {
        let woken = state.update { state in
            state.continuous += duration
            if !suspended { state.suspending += duration }
            let (seconds, attoseconds) = duration.components
            state.wall.milliseconds += seconds * 1_000 + attoseconds / 1_000_000_000_000_000
            let now = state.continuous
            let woken = state.sleepers.filter { $0.deadline <= now }.sorted { $0.deadline < $1.deadline }
            state.sleepers.removeAll { $0.deadline <= now }
            return woken
        }
        for sleeper in woken { sleeper.continuation.yield() }
    }

    // MARK: Watching the sleepers

    /// The deadlines of all sleepers, ascending.
    public var deadlines: [Duration] {
        state.read { $0.sleepers.map(\.deadline).sorted() }
    }

    /// Waits until there is a sleeper with a deadline in `range`. Use this to wait until a task has nothing more to do
    /// before that time.
    ///
    /// ```swift
    /// await time.waitForSleeper(within: ...(.seconds(15)))
    /// ```
    public func waitForSleeper(within range: some RangeExpression<Duration> & Sendable) async {
        await state.wait { $0.sleepers.contains { range.contains($0.deadline) } }
    }

    /// Waits until there is a sleeper.
    ///
    /// ```swift
    /// await time.waitForSleeper()
    /// time.advanceToNextSleeper()
    /// ```
    public func waitForSleeper() async {
        await state.wait { !$0.sleepers.isEmpty }
    }

    // MARK: TimeSource

    /// Returns the wall time that you set.
    public func wallTime() -> Timestamp { state.read { $0.wall } }

    /// Returns the time that passed while the machine was awake.
    public func suspendingTime() -> Duration { state.read { $0.suspending } }

    /// Returns the time that passed.
    public func continuousTime() -> Duration { state.read { $0.continuous } }

    /// Waits until you move the continuous clock to `deadline`.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    public func sleep(until deadline: Duration) async throws {
        try Task.checkCancellation()
        let (wakes, continuation) = AsyncStream.makeStream(of: Void.self)
        let isOver = state.update { state in
            if deadline <= state.continuous { return true }
            state.lastID += 1
            state.sleepers.append(Sleeper(id: state.lastID, deadline: deadline, continuation: continuation))
            continuation.onTermination = { [state = self.state, id = state.lastID] _ in
                state.update { $0.sleepers.removeAll { $0.id == id } }
            }
            return false
        }
        if isOver { return }
        for await _ in wakes { return }
        // The stream ends only when the task is cancelled.
        throw CancellationError()
    }
}
