public import Sluice

/// A transport that answers by a script and remembers what it was sent.
///
/// ```swift
/// let transport = ScriptedTransport([.answer(.all(.retry(after: nil)))])  // once a failure, then acceptance
/// ```
///
/// Safe from any thread.
public final class ScriptedTransport: Transport {
    /// What one send comes to.
    public enum Step: Sendable {
        case answer(Verdicts)
        case failure(SluiceError)
        /// Nothing, until the task is cancelled or ``ScriptedTransport/release(_:)`` is called.
        case hang
    }

    private struct Hanging {
        let id: UInt64
        let continuation: CheckedContinuation<Verdicts, any Error>
    }

    private struct State {
        var batches: [Batch] = []
        var accepted: [EventLine] = []
        var hanging: [Hanging] = []
        var cancelled: Set<UInt64> = []
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    public let maximumBatchSize: BatchSize
    private let step: @Sendable (_ send: Int, _ batch: Batch) -> Step
    private let state = Locked(State())

    /// Answers by a list, and then always in the same way.
    ///
    /// - Parameters:
    ///   - steps: what the first sends come to.
    ///   - last: what all later ones come to; by default they are accepted.
    ///   - maximumBatchSize: what the transport asks the loop to keep to.
    public convenience init(
        _ steps: [Step] = [], then last: Step = .answer(.all(.accepted)),
        maximumBatchSize: BatchSize = BatchSize(events: .max, bytes: .max)
    ) {
        self.init(maximumBatchSize: maximumBatchSize) { send, _ in steps.indices.contains(send) ? steps[send] : last }
    }

    /// Answers by a function of the number of the send, from zero, and the batch.
    public init(
        maximumBatchSize: BatchSize = BatchSize(events: .max, bytes: .max),
        answering step: @escaping @Sendable (_ send: Int, _ batch: Batch) -> Step
    ) {
        self.maximumBatchSize = maximumBatchSize
        self.step = step
    }

    // MARK: What happened

    /// All batches that were sent, whatever was answered.
    public var batches: [Batch] { state.withLock { $0.batches } }

    /// The events that were accepted, in that order.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/malformedLine`` if a line is none.
    public func accepted() throws -> [Event] {
        try state.withLock { $0.accepted }.map { try $0.event() }
    }

    /// Returns as soon as `count` batches have been sent.
    public func waitForSends(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                if state.batches.count >= count { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isDone { continuation.resume() }
        }
    }

    /// Lets all sends that hang come to `verdicts`.
    public func release(_ verdicts: Verdicts) {
        let hanging = state.withLock { state in
            defer { state.hanging = [] }
            return state.hanging
        }
        for send in hanging { send.continuation.resume(returning: verdicts) }
    }

    // MARK: Transport

    public func send(_ batch: Batch) async throws -> Verdicts {
        let (index, watchers) = state.withLock { state in
            state.batches.append(batch)
            let count = state.batches.count
            defer { state.watchers.removeAll { $0.count <= count } }
            return (count - 1, state.watchers.filter { $0.count <= count })
        }
        for watcher in watchers { watcher.continuation.resume() }
        let verdicts: Verdicts
        switch step(index, batch) {
        case .answer(let answer): verdicts = answer
        case .failure(let error): throw error
        case .hang: verdicts = try await hang(UInt64(index))
        }
        record(verdicts, batch)
        return verdicts
    }

    private func record(_ verdicts: Verdicts, _ batch: Batch) {
        let each =
            switch verdicts {
            case .all(let verdict): batch.events.map { _ in verdict }
            case .each(let verdicts): verdicts
            }
        let accepted = zip(batch.events, each).filter { $0.1 == .accepted }.map(\.0)
        state.withLock { $0.accepted += accepted }
    }

    private func hang(_ id: UInt64) async throws -> Verdicts {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isCancelled = state.withLock { state in
                    if state.cancelled.remove(id) != nil { return true }
                    state.hanging.append(Hanging(id: id, continuation: continuation))
                    return false
                }
                if isCancelled { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            let hanging = state.withLock { state in
                let index = state.hanging.firstIndex { $0.id == id }
                if index == nil { state.cancelled.insert(id) }
                return index.map { state.hanging.remove(at: $0) }
            }
            hanging?.continuation.resume(throwing: CancellationError())
        }
    }
}
