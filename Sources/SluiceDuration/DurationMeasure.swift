public import Sluice

/// How a duration is measured and written.
public struct DurationMeasure: Sendable {
    /// In what `$event_duration` is written, each with three decimals.
    public enum Unit: Sendable, Hashable {
        case milliseconds
        case seconds
    }

    /// What counts.
    public enum Clock: Sendable, Hashable {
        /// Not the sleep of the machine.
        case suspending
        /// Everything.
        case continuous
    }

    let unit: Unit
    let clock: Clock
    let limit: Duration
    let time: any TimeSource

    /// - Parameters:
    ///   - unit: in what it is written.
    ///   - clock: what counts. Neither clock knows of the user's setting the time.
    ///   - limit: what is longer cannot be true: such a duration is left out of its event, and counted as
    ///     ``Sluice/Sanitization/overlongDuration``. A day by default.
    ///   - time: the clocks.
    public init(
        unit: Unit = .milliseconds, clock: Clock = .suspending, limit: Duration = .seconds(86_400),
        time: any TimeSource = SystemTime()
    ) {
        self.unit = unit
        self.clock = clock
        self.limit = limit
        self.time = time
    }

    /// Milliseconds, by the suspending clock, up to a day.
    public static let standard = DurationMeasure()

    var now: Duration {
        switch clock {
        case .suspending: time.suspendingTime()
        case .continuous: time.continuousTime()
        }
    }

    /// Adds the duration to an event that does not have one of its own.
    func write(_ duration: Duration, to event: inout Event) {
        guard event.properties["$event_duration"] == nil else { return }
        guard duration <= limit else { return event.report(.overlongDuration) }
        event.properties["$event_duration"] =
            switch unit {
            case .milliseconds: .double(duration.inMilliseconds)
            case .seconds: .double(duration.inSeconds)
            }
    }
}

extension Sanitization {
    /// A duration was left out because it is longer than the limit of a `DurationMeasure`.
    public static let overlongDuration = Sanitization(rawValue: "overlongDuration")
}

extension Duration {
    /// Seconds with three decimals, rounded to the nearest; a negative duration is 0.
    fileprivate var inSeconds: Double {
        guard self > .zero else { return 0 }
        let (seconds, attoseconds) = components
        return (Double(seconds) * 1_000 + Double((attoseconds + 500_000_000_000_000) / 1_000_000_000_000_000)) / 1_000
    }
}
