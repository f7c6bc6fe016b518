public import CoreMetrics
public import Sluice
import Synchronization

/// Publishes the ledger of a pipeline as counters and gauges of swift-metrics.
///
/// ```swift
/// let metrics = PipelineMetrics(of: pipeline)
/// await metrics.run(every: .seconds(10))  // In a task or a service of its own.
/// ```
///
/// Every name begins with `sluice.`, and every metric of a route has the dimension `route`. `dropped` and
/// `dead_letters.dropped` also have the dimension `reason`, and `sanitized` has `kind`. Events that were dropped before they
/// reached a route have an empty route.
///
/// Counters begin at zero with each object, so create one for each pipeline. The object keeps its pipeline alive.
public final class PipelineMetrics: Sendable {
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
    private let factory: any MetricsFactory
    private let instruments = Mutex(Instruments())

    /// Creates the metrics of a pipeline.
    ///
    /// - Parameters:
    ///   - pipeline: The pipeline.
    ///   - factory: The backend of the metrics: the one of the process by default.
    public init(of pipeline: Pipeline, factory: any MetricsFactory = MetricsSystem.factory) {
        self.pipeline = pipeline
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

    /// Publishes the counts now, after each interval, and a last time when the task is cancelled. Then it returns.
    ///
    /// - Parameter interval: The time between two updates.
    public func run(every interval: Duration = .seconds(10)) async {
        while !Task.isCancelled {
            update()
            do { try await Task.sleep(for: interval) } catch {}  // Cancelled, which ends the loop.
        }
        update()
    }

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
        count("sends.held", route.attempts.held, dimensions, &instruments)
        for (reason, count) in route.dropped {
            self.count("dropped", count, ["route": route.name, "reason": reason.rawValue], &instruments)
        }
        for (reason, count) in route.droppedDeadLetters {
            let dimensions = ["route": route.name, "reason": reason.rawValue]
            self.count("dead_letters.dropped", count, dimensions, &instruments)
        }
        show("waiting", route.waiting, dimensions, &instruments)
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
