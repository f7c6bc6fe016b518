/// The way by which a plugin puts events of its own into the pipeline that it is part of, or tells its host something.
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
    /// pipeline is gone. Not to be called with a lock held that it takes; nor from ``Processor/process(_:)``, except by
    /// a processor that makes sure that the events which it makes there make no further ones.
    ///
    /// - Returns: whether at least one route has stored it; if not, the ledger says why.
    @discardableResult
    public func track(
        _ name: String,
        _ properties: Properties = [:],
        priority: Event.Priority = .normal,
        configure: (inout Event) -> Void = { _ in }
    ) -> Bool {
        // Outside the lock: the event comes back through the plugins.
        let pipeline = target.withLock { $0.pipeline }
        return pipeline?.tracked(name, properties, priority, configure) ?? false
    }

    /// As ``Pipeline/pauseDelivery()`` and ``Pipeline/resumeDelivery()``.
    public func setDeliveryPaused(_ isPaused: Bool) {
        let pipeline = target.withLock { $0.pipeline }
        isPaused ? pipeline?.pauseDelivery() : pipeline?.resumeDelivery()
    }

    /// Hands a message to the host's diagnostics, as ``Diagnostic/Kind-swift.enum/plugin``: for what fails where nothing can be thrown.
    ///
    /// - Parameter message: what went wrong and what to do about it, without secrets and contents of events.
    public func report(_ message: String) {
        let pipeline = target.withLock { $0.pipeline }
        pipeline?.report(message)
    }
}
