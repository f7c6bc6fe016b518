public import CoreMetrics
public import ServiceLifecycle
public import Sluice
import Synchronization

/// Publishes the ledger of a pipeline as counters and gauges of swift-metrics.
///
/// ```swift
/// let group = ServiceGroup(
///     services: [PipelineMetrics(of: pipeline), PipelineService(pipeline), server],
///     gracefulShutdownSignals: [.sigterm], logger: logger)
/// try await group.run()
/// ```
///
/// List it before `PipelineService`. A group shuts its services down in the reverse order, so the last update has the counts
/// after the shutdown of the pipeline. Without a group, call ``run()`` in a task of its own.
///
/// Every name begins with `sluice.`, and every metric of a route has the dimension `route`. `dropped` and
/// `dead_letters.dropped` also have the dimension `reason`, and `sanitized` has `kind`. Events that were dropped before they
/// reached a route have an empty route.
///
/// Counters begin at zero with each object, so create one for each pipeline. The object keeps its pipeline alive.
public final class PipelineMetrics: Service, CustomStringConvertible {
    /// The label of a metric and its dimensions.
    private struct Key: Hashable {
        let label: String
        let dimensions: [String: String]

        var pairs: [(String, String)] { dimensions.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
    }

    /// The instruments are kept, because a factory may make a new one for each call.
    private struct Instruments {
        var counters: [Key: (counter: Counter, value: Int)] = [:]
        var gauges: [Key: Gauge] = [:]
    }

    private let pipeline: Pipeline
    private let interval: Duration
    private let factory: any MetricsFactory
    private let instruments = Mutex(Instruments())

    /// Creates the metrics of a pipeline.
    ///
    /// - Parameters:
    ///   - pipeline: The pipeline.
    ///   - interval: The time between two updates of ``run()``.
    ///   - factory: The backend of the metrics: the one of the process by default.
    public init(
        of pipeline: Pipeline, every interval: Duration = .seconds(10),
        factory: any MetricsFactory = MetricsSystem.factory
    ) {
        self.pipeline = pipeline
        self.interval = interval
        self.factory = factory
    }

    /// Publishes the counts of this moment.
    ///
    /// Call it before your backend is scraped, or once after a shutdown. It can be called from any thread.
    public func update() {
        instruments.withLock { instruments in
            // Under the lock, so that an older ledger can't follow a newer one.
            let ledger = pipeline.ledger
            count("tracked", ledger.tracked, [:], &instruments)
            for (reason, count) in ledger.dropped {
                self.count("dropped", count, ["route": "", "reason": reason.rawValue], &instruments)
            }
            for (kind, count) in ledger.sanitized {
                self.count("sanitized", count, ["kind": kind.rawValue], &instruments)
            }
            show("held", ledger.held, ["route": ""], &instruments)
            for route in ledger.routes { update(route, &instruments) }
        }
    }

    /// Publishes the counts now, after each interval, and a last time when the group shuts down or the task is cancelled. Then
    /// it returns.
    public func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                self.update()
                do { try await Task.sleep(for: self.interval) } catch {}  // Cancelled, which ends the loop.
            }
        }
        update()
    }

    /// The name in the logs of the group.
    public var description: String { "PipelineMetrics" }

    private func update(_ route: RouteLedger, _ instruments: inout Instruments) {
        let dimensions = ["route": route.name]
        count("received", route.received, dimensions, &instruments)
        count("recovered", route.recovered, dimensions, &instruments)
        count("delivered", route.delivered, dimensions, &instruments)
        count("duplicates", route.duplicates, dimensions, &instruments)
        count("rejected", route.rejected, dimensions, &instruments)
        count("replayed", route.replayed, dimensions, &instruments)
        count("sends", route.attempts.total, dimensions, &instruments)
        count("sends.failed", route.attempts.failed, dimensions, &instruments)
        for (reason, count) in route.dropped {
            self.count("dropped", count, ["route": route.name, "reason": reason.rawValue], &instruments)
        }
        for (reason, count) in route.droppedDeadLetters {
            let dimensions = ["route": route.name, "reason": reason.rawValue]
            self.count("dead_letters.dropped", count, dimensions, &instruments)
        }
        show("waiting", route.waiting, dimensions, &instruments)
        show("set_aside", route.setAside, dimensions, &instruments)
        show("unread_bytes", route.unreadBytes, dimensions, &instruments)
        show("held", route.held, dimensions, &instruments)
        show("dead_letters", route.deadLetters, dimensions, &instruments)
    }

    private func count(
        _ name: String, _ value: Int, _ dimensions: [String: String], _ instruments: inout Instruments
    ) {
        let key = Key(label: "sluice." + name, dimensions: dimensions)
        let (counter, last) =
            instruments.counters[key]
            ?? (Counter(label: key.label, dimensions: key.pairs, factory: factory), 0)
        if value > last { counter.increment(by: value - last) }
        instruments.counters[key] = (counter, max(value, last))
    }

    private func show(
        _ name: String, _ value: Int, _ dimensions: [String: String], _ instruments: inout Instruments
    ) {
        let key = Key(label: "sluice." + name, dimensions: dimensions)
        let gauge =
            instruments.gauges[key] ?? Gauge(label: key.label, dimensions: key.pairs, factory: factory)
        gauge.record(value)
        instruments.gauges[key] = gauge
    }
}
