public import ServiceLifecycle
public import Sluice

/// Shuts a pipeline down when its `ServiceGroup` ends, for example after SIGTERM.
///
/// ```swift
/// let group = ServiceGroup(
///     services: [PipelineService(pipeline), server], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
/// try await group.run()
/// ```
///
/// List it before the services that track events. A group shuts its services down in the reverse order, so their last
/// events are delivered too.
///
/// Events that can't be sent in time stay in a store on disk for the next process. ``Sluice/Pipeline/ledger`` has the
/// counts after the group has ended.
public struct PipelineService: Service, CustomStringConvertible {
    private let pipeline: Pipeline
    private let deadline: Duration

    /// Creates a service.
    ///
    /// - Parameters:
    ///   - pipeline: The pipeline, which already works. The service only ends it.
    ///   - deadline: The longest time that the shutdown may take. Use less than the time after which your platform kills
    ///     the process, and less than the group's `maximumGracefulShutdownDuration`.
    public init(_ pipeline: Pipeline, deadline: Duration = .seconds(5)) {
        self.pipeline = pipeline
        self.deadline = deadline
    }

    /// Waits for the end of the group, and shuts the pipeline down.
    ///
    /// If the group is cancelled, because another service failed, the events are sent within the same deadline.
    public func run() async throws {
        do {
            try await gracefulShutdown()
        } catch {}  // The group was cancelled. The events must be sent in this case too.
        // In a task of its own, which a cancellation of this one doesn't reach.
        await Task { _ = await pipeline.shutdown(timeout: deadline) }.value
    }

    /// The name in the logs of the group.
    public var description: String { "PipelineService" }
}
