public import Sluice

/// The clock of durations, and the longest plausible one.
struct DurationMeasure: Sendable {
    let countsSleep: Bool
    let limit: Duration

    func now(_ context: PluginContext) -> Duration {
        let time = context.time
        return countsSleep ? time.continuousTime() : time.suspendingTime()
    }

    static func validate(_ time: Duration, _ name: String) throws(SluiceError) {
        try SluiceError.require(time > .zero, "a \(name) of \(time) leaves no durations: choose a longer one")
    }

    /// Adds the duration to an event, unless the event has its own.
    func write(_ duration: Duration, to event: inout Event) {
        guard event.properties["$event_duration"] == nil else { return }
        guard duration <= limit else { return event.report(.overlongDuration) }
        event.properties["$event_duration"] = .double(duration.inMilliseconds)
    }
}

/// Identifies one timer of ``DurationTimer`` or one screen of ``Screens`` among others of the same name.
public final class DurationToken: Sendable {
    /// The name of the timer and of its event, or the name of the screen.
    public let name: String
    let id: UInt64
    private let onRelease: @Sendable () -> Void
    private static let lastID = Locked<UInt64>(0)

    /// Ids ascend, and differ in all timers and screens. So a token means nothing to another object than its own.
    static func newID() -> UInt64 { lastID.next() }

    init(_ name: String, _ id: UInt64, onRelease: @escaping @Sendable () -> Void = {}) {
        self.name = name
        self.id = id
        self.onRelease = onRelease
    }

    deinit {
        onRelease()
    }
}

extension Sanitization {
    /// A duration was left out, because it is longer than the limit of `DurationTimer` or `Screens`, or because its
    /// timer was older than the maximum age.
    public static let overlongDuration = Sanitization(rawValue: "overlongDuration")
}
