public import Sluice

/// Corrects the times of events by the clock of the server that they are sent to, for devices whose own clock is wrong.
///
/// ```swift
/// let clock = ClockCorrection()
/// let pipeline = try Pipeline {
///     clock
///     JSONLStore(at: directory)
///     HTTPTransport(to: collector, clock: clock)
/// }
/// ```
///
/// The transport learns the server's time from the `Date` of every 2xx; it has a resolution of a second, which several
/// answers together narrow down. From then on an event that is made now gets the server's time, as far as the
/// continuous clock says that it has gone on, whatever the user sets the wall clock to. As long as this system's clock may
/// be right, nothing is changed. Events of before the first answer, and those to which the host gives a time of the past,
/// keep theirs: for those, formats send the time of the sending along, by which a server can correct them.
///
/// A corrected event is marked by `$time_correction`, the milliseconds that were added to its time. One that has this
/// property already has been corrected before, and keeps its time. Let it stand below stages that limit the number of
/// properties.
///
/// What it has found out is in the ledger of the route: ``Sluice/RouteLedger/clockSkew``. Safe from any thread.
public final class ClockCorrection: Processor {
    /// An event whose time is farther from the wall clock than this many milliseconds was not made now.
    private static let nearness: Int64 = 1_000

    private static let mark = "$time_correction"

    private let time: any TimeSource
    private let bounds = Locked<ClockBounds?>(nil)

    /// - Parameter time: the clocks of this system, the same as the pipeline's.
    public init(time: any TimeSource = SystemTime()) {
        self.time = time
    }

    public static var isUnique: Bool { true }

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

    /// How far the server's clock is ahead of this system's wall clock; zero while that may be right, and nil before the
    /// first answer.
    public var skew: Duration? {
        skew(at: time.wallTime()).map { .milliseconds($0) }
    }

    private func skew(at wall: Timestamp) -> Int64? {
        guard let bounds = bounds.withLock({ $0 }), Timestamp.writable.contains(wall) else { return nil }
        return bounds.skew(from: wall, at: time.continuousTime())
    }

    /// Where the continuous clock stands, for ``note(_:since:)``.
    var now: Duration { time.continuousTime() }

    /// - Parameter begin: when the request was sent.
    func note(_ answer: HTTPAnswer, since begin: Duration) {
        guard (200...299).contains(answer.status), let text = answer.header("Date"),
            let date = Timestamp(httpDate: text)
        else { return }
        let found = ClockBounds(date: date, between: begin, and: time.continuousTime())
        bounds.withLock { $0 = $0?.narrowed(by: found) ?? found }
    }
}

/// What is known of a server's clock: that it is ahead of this system's continuous clock by so many milliseconds.
struct ClockBounds: Equatable {
    var lowest: Int64
    var highest: Int64

    /// - Parameters:
    ///   - date: what the server's clock has shown, without the milliseconds, at some moment
    ///   - begin: after this
    ///   - end: and before this.
    init(date: Timestamp, between begin: Duration, and end: Duration) {
        lowest = date.milliseconds - Int64(end.inMilliseconds.rounded(.up))
        highest = date.milliseconds + 999 - Int64(begin.inMilliseconds.rounded(.down))
    }

    /// What both can be true of; or only the new ones, when the server's clock was set, or another server answers.
    func narrowed(by new: ClockBounds) -> ClockBounds {
        var both = self
        both.lowest = max(lowest, new.lowest)
        both.highest = min(highest, new.highest)
        return both.lowest <= both.highest ? both : new
    }

    /// By how much a wall clock has to be corrected at least to be within the bounds, and then to their middle.
    func skew(from wall: Timestamp, at now: Duration) -> Int64 {
        let ahead = wall.milliseconds - Int64(now.inMilliseconds)
        return (lowest...highest).contains(ahead) ? 0 : lowest + (highest - lowest) / 2 - ahead
    }
}
