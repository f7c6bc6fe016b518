import Sluice

/// Learns how far the server's clock is ahead, and corrects the times of batches by it: see
/// ``HTTPTransport/Configuration/clockCorrection``.
final class ClockCorrection: Sendable {
    /// The range of plausible server times: 2025-01-01 to 2100-01-01.
    private static let plausible =
        Timestamp(milliseconds: 1_735_689_600_000)..<Timestamp(milliseconds: 4_102_444_800_000)

    private static let mark = "$time_correction"

    /// The clocks of the pipeline that has opened the transport.
    private let source: Locked<any TimeSource>
    private let bounds = Locked<ClockBounds?>(nil)
    private let kept: PersistedState<ClockSkew>
    private let observer = Locked<TransportObserver?>(nil)

    /// Returns nil if the correction is off.
    init?(_ configuration: HTTPTransport.Configuration, _ time: Locked<any TimeSource>) {
        guard let persistence = configuration.clockCorrection.persistence else { return nil }
        source = time
        kept = PersistedState("clock", in: persistence, initial: ClockSkew()) { [observer] message in
            observer.withLock(\.self)?.note("clock correction: \(message)")
        }
    }

    private var time: any TimeSource { source.withLock(\.self) }

    /// Reads the skew of an earlier launch. Messages go to `observer`, also later.
    func open(_ observer: TransportObserver) throws(SluiceError) {
        self.observer.withLock { $0 = observer }
        // An erasure forgets the user. The skew is the server's and the device's.
        try kept.load(behind: nil)
    }

    /// How far the server's clock is ahead of this system's wall clock, in milliseconds. Zero while both can agree. Nil
    /// before the first response. The skew changes only when a response contradicts it.
    var skew: Int64? {
        let time = time
        let (wall, now) = (time.wallTime(), time.continuousTime())
        let old = kept.value.milliseconds
        guard let bounds = bounds.withLock({ $0 }), Timestamp.writable.contains(wall) else { return old }
        let new = bounds.skew(from: wall, at: now, keeping: old)
        if new != old {
            // Before the batch counts as sent. It changes so rarely that no one notices the time.
            kept.saveOrReport { $0.milliseconds = new }
        }
        return new
    }

    /// The continuous time, for ``note(_:since:)``.
    var now: Duration { time.continuousTime() }

    /// Learns from the response to a request that was sent at `begin`.
    func note(_ response: HTTPResponse, since begin: Duration) {
        guard (200...299).contains(response.status), let text = response.header("Date"),
            let date = Timestamp(httpDate: text), ClockCorrection.plausible.contains(date)
        else { return }
        let found = ClockBounds(date: date, between: begin, and: time.continuousTime())
        bounds.withLock { $0 = $0?.narrowed(by: found) ?? found }
        _ = skew
    }

    /// Returns the batch with corrected times.
    static func correct(_ batch: Batch, by skew: Int64) -> Batch {
        guard skew != 0 else { return batch }
        return Batch(
            id: batch.id, events: batch.events.map { corrected($0, by: skew) }, retryCount: batch.retryCount)
    }

    private static func corrected(_ line: EventLine, by skew: Int64) -> EventLine {
        do throws(SluiceError) {
            var event = try line.event()
            let time = Timestamp(milliseconds: event.time.milliseconds &+ skew)
            guard event.properties[mark] == nil, Timestamp.writable.contains(time) else { return line }
            event.time = time
            event.moveSession(by: skew)
            event.properties[mark] = .int(skew)
            return try EventLine(event)
        } catch {
            // The format reports lines that can't be read.
            return line
        }
    }
}

extension Event {
    /// Moves the start of the session, which formats and backends read from its id. It then doesn't come after its events.
    ///
    /// `Sessions` sets the index with its ids. A host's own id, such as one from a browser, has a time of another clock.
    fileprivate mutating func moveSession(by skew: Int64) {
        guard properties["$session_index"] != nil, let text = properties["$session_id"]?.string,
            let id = EventID(text), let start = id.time
        else { return }
        properties["$session_id"] = .string(id.with(Timestamp(milliseconds: start.milliseconds + skew)).description)
    }
}

/// The skew that the next launch begins with.
private struct ClockSkew: PersistedValue {
    private static let name = "skew"

    /// Nil before the first response.
    var milliseconds: Int64?

    init() {}

    init?(_ object: Properties) {
        guard case .int(let milliseconds)? = object[ClockSkew.name] else { return nil }
        self.milliseconds = milliseconds
    }

    var object: Properties { milliseconds.map { [ClockSkew.name: .int($0)] } ?? [:] }
}

/// The range, in milliseconds, by which a server's clock is ahead of this system's continuous clock.
struct ClockBounds: Equatable {
    var lowest: Int64
    var highest: Int64

    /// Creates bounds from a response.
    ///
    /// - Parameters:
    ///   - date: The server's clock, without milliseconds, at a moment between `begin` and `end`.
    ///   - begin: The continuous time before that moment.
    ///   - end: The continuous time after that moment.
    init(date: Timestamp, between begin: Duration, and end: Duration) {
        lowest = date.milliseconds - Int64(end.inMilliseconds.rounded(.up))
        highest = date.milliseconds + 999 - Int64(begin.inMilliseconds.rounded(.down))
    }

    /// Clocks drift, and would soon contradict narrower bounds.
    private static let minimumWidth: Int64 = 200

    /// Returns the intersection with new bounds. Bounds that don't intersect mean that the server's clock was set or that
    /// another server responds, so the new bounds are returned. If the intersection is too narrow, the bounds stay
    /// unchanged.
    func narrowed(by new: ClockBounds) -> ClockBounds {
        var both = self
        both.lowest = max(lowest, new.lowest)
        both.highest = min(highest, new.highest)
        if both.lowest > both.highest { return new }
        return both.highest - both.lowest < ClockBounds.minimumWidth ? self : both
    }

    /// Returns the old skew if it is within the bounds. Otherwise returns zero if zero is within them, and otherwise
    /// their middle.
    func skew(from wall: Timestamp, at now: Duration, keeping old: Int64?) -> Int64 {
        let ahead = wall.milliseconds - Int64(now.inMilliseconds)
        let range = lowest - ahead...highest - ahead
        return [old, 0].compactMap { $0 }.first(where: range.contains) ?? lowest + (highest - lowest) / 2 - ahead
    }
}
