public import Sluice

/// Corrects the times of events by the server's clock, for devices whose clock is wrong.
///
/// ```swift
/// let clock = ClockCorrection()
/// let pipeline = try Pipeline {
///     clock
///     JSONLStore(at: directory)
///     HTTPTransport(to: collector, configuration: .init(clock: clock))
/// }
/// ```
///
/// The transport reads the server's time from the `Date` of each 2xx response. From the first response on, an event that is
/// tracked now gets the server's time, measured by the continuous clock: it doesn't matter if the user sets the wall clock.
/// Nothing changes while the wall clock agrees with the server's `Date`, which has a resolution of one second. Several
/// responses narrow it down.
///
/// Events keep their time if they were tracked before the first response, or if you gave them a time in the past. Formats
/// also send the time of the request, by which a server can correct those events.
///
/// A corrected event has the property `$time_correction`, the milliseconds that were added. An event that already has this
/// property isn't corrected again. List the stage below stages that limit the number of properties.
///
/// You can read the skew from ``HTTPTransport/clockSkew`` and use this type from any thread.
public final class ClockCorrection: Processor {
    /// An event was tracked now if its time is within this many milliseconds of the wall clock.
    private static let nearness: Int64 = 1_000

    private static let mark = "$time_correction"

    private let time: any TimeSource
    private let bounds = Locked<ClockBounds?>(nil)

    /// Creates a correction. The clocks must be those of the pipeline.
    public init(time: any TimeSource = PipelineEnvironment.systemTime) {
        self.time = time
    }

    /// True: a pipeline can have one correction.
    public static var isUnique: Bool { true }

    /// Adds the skew to the event's time.
    public func process(_ event: inout Event) -> Disposition {
        let wall = time.wallTime()
        guard let skew = skew(at: wall), skew != 0, Timestamp.writable.contains(event.time),
            abs(event.time.milliseconds - wall.milliseconds) <= ClockCorrection.nearness,
            event.properties[ClockCorrection.mark] == nil
        else { return .keep }
        event.time.milliseconds += skew
        event.properties[ClockCorrection.mark] = .int(skew)
        return .keep
    }

    /// How far the server's clock is ahead of this system's wall clock. Zero while both may agree, nil before the first
    /// response.
    public var skew: Duration? {
        skew(at: time.wallTime()).map { .milliseconds($0) }
    }

    private func skew(at wall: Timestamp) -> Int64? {
        guard let bounds = bounds.withLock({ $0 }), Timestamp.writable.contains(wall) else { return nil }
        return bounds.skew(from: wall, at: time.continuousTime())
    }

    /// The continuous time, for ``note(_:since:)``.
    var now: Duration { time.continuousTime() }

    /// Learns from the response to a request that was sent at `begin`.
    func note(_ response: HTTPResponse, since begin: Duration) {
        guard (200...299).contains(response.status), let text = response.header("Date"),
            let date = Timestamp(httpDate: text)
        else { return }
        let found = ClockBounds(date: date, between: begin, and: time.continuousTime())
        bounds.withLock { $0 = $0?.narrowed(by: found) ?? found }
    }
}

/// Bounds, in milliseconds, on how far a server's clock is ahead of this system's continuous clock.
struct ClockBounds: Equatable {
    var lowest: Int64
    var highest: Int64

    /// - Parameters:
    ///   - date: The server's clock, without milliseconds, at a moment between the other two.
    ///   - begin: The continuous time before that moment.
    ///   - end: The continuous time after that moment.
    init(date: Timestamp, between begin: Duration, and end: Duration) {
        lowest = date.milliseconds - Int64(end.inMilliseconds.rounded(.up))
        highest = date.milliseconds + 999 - Int64(begin.inMilliseconds.rounded(.down))
    }

    /// The intersection, or the new bounds if there is no intersection: the server's clock was set, or another server
    /// responds.
    func narrowed(by new: ClockBounds) -> ClockBounds {
        var both = self
        both.lowest = max(lowest, new.lowest)
        both.highest = min(highest, new.highest)
        return both.lowest <= both.highest ? both : new
    }

    /// Zero if the wall clock is within the bounds, otherwise the correction to their middle.
    func skew(from wall: Timestamp, at now: Duration) -> Int64 {
        let ahead = wall.milliseconds - Int64(now.inMilliseconds)
        return (lowest...highest).contains(ahead) ? 0 : lowest + (highest - lowest) / 2 - ahead
    }
}
