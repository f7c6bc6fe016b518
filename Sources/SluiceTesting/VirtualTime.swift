public import Sluice

/// Clocks that stand still until a test moves them, so that hours pass at once and every run is the same.
///
/// ```swift
/// let time = VirtualTime()
/// let pipeline = try Pipeline(environment: PipelineEnvironment(time: time)) { … }
/// time.advance(by: .seconds(15))
/// ```
///
/// Safe from any thread.
public final class VirtualTime: TimeSource {
    private struct Sleeper {
        let id: UInt64
        let deadline: Duration
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct Watcher {
        let isSatisfied: @Sendable ([Duration]) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var wall: Timestamp
        var suspending = Duration.zero
        var continuous = Duration.zero
        var sleepers: [Sleeper] = []
        var watchers: [Watcher] = []
        var lastID: UInt64 = 0
        /// Cancelled before they had fallen asleep.
        var cancelled: Set<UInt64> = []
    }

    private let state: Locked<State>

    /// - Parameter wallTime: what the wall clock shows at first: 2026-01-01T00:00:00.000Z by default. The monotonic
    ///   clocks start at zero.
    public init(wallTime: Timestamp = Timestamp(milliseconds: 1_767_225_600_000)) {
        state = Locked(State(wall: wallTime))
    }

    // MARK: Moving the clocks

    /// Lets time pass on all three clocks. Those who sleep are woken, in the order of their deadlines; their tasks then
    /// run when the system gets to them, and find the clocks at the end of the step.
    public func advance(by duration: Duration) {
        pass(duration, suspended: false)
    }

    /// Lets time pass while the machine sleeps: the suspending clock stands still.
    public func suspendMachine(for duration: Duration) {
        pass(duration, suspended: true)
    }

    /// Sets the wall clock, as a user or the network may; the monotonic clocks know nothing of it.
    public func setWallTime(_ time: Timestamp) {
        state.withLock { $0.wall = time }
    }

    /// Advances to the earliest deadline that somebody sleeps for; does nothing if nobody sleeps.
    public func advanceToNextSleeper() {
        let wait = state.withLock { state in
            state.sleepers.map(\.deadline).min().map { $0 - state.continuous }
        }
        if let wait { advance(by: wait) }
    }

    private func pass(_ duration: Duration, suspended: Bool) {
        let woken = state.withLock { state in
            state.continuous += duration
            if !suspended { state.suspending += duration }
            let (seconds, attoseconds) = duration.components
            state.wall.milliseconds += seconds * 1_000 + attoseconds / 1_000_000_000_000_000
            let now = state.continuous
            let woken = state.sleepers.filter { $0.deadline <= now }.sorted { $0.deadline < $1.deadline }
            state.sleepers.removeAll { $0.deadline <= now }
            return woken
        }
        for sleeper in woken { sleeper.continuation.resume() }
    }

    // MARK: Watching the sleepers

    /// The deadlines that are slept for at present, ascending.
    public var deadlines: [Duration] {
        state.withLock { $0.sleepers.map(\.deadline).sorted() }
    }

    /// Returns as soon as somebody sleeps for a deadline that lies within `range` of the continuous clock: the way to
    /// wait for a task to have nothing more to do until then.
    public func waitForSleeper(within range: some RangeExpression<Duration> & Sendable) async {
        await watch { deadlines in deadlines.contains { range.contains($0) } }
    }

    /// Returns as soon as somebody sleeps.
    public func waitForSleeper() async {
        await watch { !$0.isEmpty }
    }

    private func watch(_ isSatisfied: @escaping @Sendable ([Duration]) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                if isSatisfied(state.sleepers.map(\.deadline)) { return true }
                state.watchers.append(Watcher(isSatisfied: isSatisfied, continuation: continuation))
                return false
            }
            if isDone { continuation.resume() }
        }
    }

    // MARK: TimeSource

    public func wallTime() -> Timestamp { state.withLock { $0.wall } }

    public func suspendingTime() -> Duration { state.withLock { $0.suspending } }

    public func continuousTime() -> Duration { state.withLock { $0.continuous } }

    public func sleep(until deadline: Duration) async throws {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                fallAsleep(Sleeper(id: id, deadline: deadline, continuation: continuation))
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let index = state.sleepers.firstIndex { $0.id == id }
                if index == nil { state.cancelled.insert(id) }
                return index.map { state.sleepers.remove(at: $0) }
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
        state.withLock { _ = $0.cancelled.remove(id) }
    }

    private func fallAsleep(_ sleeper: Sleeper) {
        enum Answer { case cancelled, over, asleep([Watcher]) }
        let answer: Answer = state.withLock { state in
            if state.cancelled.remove(sleeper.id) != nil { return .cancelled }
            if sleeper.deadline <= state.continuous { return .over }
            state.sleepers.append(sleeper)
            let deadlines = state.sleepers.map(\.deadline)
            let satisfied = state.watchers.filter { $0.isSatisfied(deadlines) }
            state.watchers.removeAll { $0.isSatisfied(deadlines) }
            return .asleep(satisfied)
        }
        switch answer {
        case .cancelled: sleeper.continuation.resume(throwing: CancellationError())
        case .over: sleeper.continuation.resume()
        case .asleep(let watchers): for watcher in watchers { watcher.continuation.resume() }
        }
    }
}
