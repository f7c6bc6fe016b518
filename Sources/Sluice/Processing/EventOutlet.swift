/// The way by which a plugin puts events of its own into the pipeline that it is part of.
///
/// It is all that a plugin gets to see of a pipeline, and does not keep the pipeline alive.
public final class EventOutlet: Sendable {
    private struct Target {
        weak var pipeline: Pipeline?
    }

    private let target: Locked<Target>

    init(_ pipeline: Pipeline) {
        target = Locked(Target(pipeline: pipeline))
    }

    /// Tracks an event as a host would: it passes all processors, this plugin included. Without effect once the
    /// pipeline is gone. Not to be called from ``Processor/process(_:)``, nor with a lock held that it takes.
    public func track(
        _ name: String,
        _ properties: Properties = [:],
        priority: Event.Priority = .normal,
        shape: (inout Event) -> Void = { _ in }
    ) {
        // Outside the lock: the event comes back through the plugins.
        let pipeline = target.withLock { $0.pipeline }
        pipeline?.track(name, properties, priority: priority, shape: shape)
    }
}
