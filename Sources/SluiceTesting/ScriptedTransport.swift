public import Sluice

/// A transport that follows your script and records the batches that it receives.
///
/// ```swift
/// let transport = ScriptedTransport([.answer(.all(.retry(after: nil)))])  // One failure, then acceptance.
/// let pipeline = try Pipeline {
///     MemoryStore()
///     transport
/// }
/// ```
///
/// You can use it from any thread.
public final class ScriptedTransport: Transport {
    /// The result of one send.
    public enum Step: Sendable {
        /// Returns verdicts.
        case answer(Verdicts)
        /// Throws an error.
        case failure(SluiceError)
        /// Waits until the task is cancelled or you call ``ScriptedTransport/release(_:)``.
        case hang
    }

    private struct State {
        var batches: [Batch] = []
        var accepted: [EventLine] = []
        var hanging: [AsyncStream<Verdicts>.Continuation] = []
        /// The number of sends that were recorded and can be released if they hang.
        var begun = 0
    }

    /// The largest batch that this transport asks for.
    public let maximumBatchSize: BatchSize
    private let step: @Sendable (_ send: Int, _ batch: Batch) -> Step
    private let state = Watched(State())

    /// Creates a transport that follows a list.
    ///
    /// ```swift
    /// let transport = ScriptedTransport([.failure(SluiceError(.storageUnavailable, "no network")), .hang])
    /// ```
    ///
    /// - Parameters:
    ///   - steps: The results of the first sends.
    ///   - last: The result of all later sends.
    ///   - maximumBatchSize: The largest batch that the transport asks for.
    public convenience init(
        _ steps: [Step] = [], then last: Step = .answer(.all(.accepted)),
        maximumBatchSize: BatchSize = BatchSize(events: .max, bytes: .max)
    ) {
        self.init(maximumBatchSize: maximumBatchSize) { send, _ in steps.indices.contains(send) ? steps[send] : last }
    }

    /// Creates a transport that calls a function.
    ///
    /// ```swift
    /// let transport = ScriptedTransport { send, batch in
    ///     batch.events.count > 10 ? .answer(.all(.tooLarge())) : .answer(.all(.accepted))
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - maximumBatchSize: The largest batch that the transport asks for.
    ///   - step: Returns the result for the number of the send, starting at zero, and its batch.
    public init(
        maximumBatchSize: BatchSize = BatchSize(events: .max, bytes: .max),
        answering step: @escaping @Sendable (_ send: Int, _ batch: Batch) -> Step
    ) {
        self.maximumBatchSize = maximumBatchSize
        self.step = step
    }

    // MARK: Recorded sends

    /// All batches that were sent, with any result.
    public var batches: [Batch] { state.read(\.batches) }

    /// Returns the accepted events, in the order of their acceptance.
    ///
    /// ```swift
    /// let names = try transport.accepted().map(\.name)
    /// ```
    ///
    /// - Throws: ``Sluice/SluiceError/Code/malformedLine`` if a line isn't canonical.
    public func accepted() throws -> [Event] {
        try state.read(\.accepted).map { try $0.event() }
    }

    /// Waits until `count` batches have been sent.
    ///
    /// ```swift
    /// await transport.waitForSends(2)
    /// ```
    ///
    /// The events of these batches are in ``accepted()`` when this method returns, unless the sends hang.
    public func waitForSends(_ count: Int) async {
        await state.wait { $0.begun >= count }
    }

    /// Ends all sends that hang, with the same verdicts.
    ///
    /// ```swift
    /// transport.release(.all(.accepted))
    /// ```
    public func release(_ verdicts: Verdicts) {
        let hanging = state.update { state in
            defer { state.hanging = [] }
            return state.hanging
        }
        for send in hanging { send.yield(verdicts) }
    }

    // MARK: Transport

    /// Records the batch and follows the script.
    public func send(_ batch: Batch) async throws -> Verdicts {
        let index = state.update { state in
            state.batches.append(batch)
            return state.batches.count - 1
        }
        switch step(index, batch) {
        case .answer(let verdicts):
            record(verdicts, batch)
            begin()
            return verdicts
        case .failure(let error):
            begin()
            throw error
        case .hang:
            let (released, continuation) = AsyncStream.makeStream(of: Verdicts.self)
            begin(hanging: continuation)
            for await verdicts in released {
                record(verdicts, batch)
                return verdicts
            }
            // The stream ends only when the task is cancelled.
            throw CancellationError()
        }
    }

    /// Wakes the watchers. From here on, a send that hangs can be released.
    private func begin(hanging continuation: AsyncStream<Verdicts>.Continuation? = nil) {
        state.update { state in
            if let continuation { state.hanging.append(continuation) }
            state.begun += 1
        }
    }

    private func record(_ verdicts: Verdicts, _ batch: Batch) {
        let each =
            switch verdicts.kind {
            case .all(let verdict): batch.events.map { _ in verdict }
            case .each(let verdicts): verdicts
            }
        let accepted = zip(batch.events, each).filter { $0.1 == .accepted }.map(\.0)
        state.update { $0.accepted += accepted }
    }
}
