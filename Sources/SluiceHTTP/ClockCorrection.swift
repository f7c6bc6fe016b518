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
    /// before the first response. The skew changes only when a response contradicts it or the wall clock is set.
    var skew: Int64? {
        let (now, bounds, old) = (ClockSkew(time), bounds.withLock { $0 }, kept.value)
        guard Timestamp.writable.contains(Timestamp(milliseconds: now.wall)) else { return old.milliseconds }
        var new = old.moved(to: now)
        if let bounds {
            let skew = bounds.skew(from: now.wall - now.continuous, keeping: new.milliseconds)
            (new.milliseconds, new.isLeast) = (skew, false)
        }
        if new.milliseconds != nil, old.isOld(beside: new) {
            // Before the batch counts as sent. It changes so rarely that no one notices the time.
            kept.saveOrReport { [new] in $0 = new }
        }
        return new.milliseconds
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
        return Batch(id: batch.id, events: batch.events.map { corrected($0, by: skew) }, retryCount: batch.retryCount)
    }

    private static func corrected(_ line: EventLine, by skew: Int64) -> EventLine {
        do throws(SluiceError) {
            var event = try line.event()
            let time = Timestamp(milliseconds: event.time.milliseconds &+ skew)
            guard event.properties[mark] == nil, Timestamp.writable.contains(time) else { return line }
            event.moveSession(by: skew)
            event.time = time
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
    /// An id with a time after the event has the time of another clock, such as a server's.
    fileprivate mutating func moveSession(by skew: Int64) {
        guard let id = properties["$session_id"]?.string.flatMap({ EventID($0) }), let start = id.time?.milliseconds,
            // `Sessions` takes events of the last second before a session into it.
            start <= time.milliseconds + 1_000
        else { return }
        properties["$session_id"] = .string(id.with(Timestamp(milliseconds: start + skew)).description)
    }
}

/// The skew that the next launch begins with, and the readings of the clocks to it, in milliseconds.
private struct ClockSkew: PersistedValue {
    /// Nil before the first response.
    var milliseconds: Int64?
    private(set) var (wall, continuous): (Int64, Int64) = (0, 0)
    /// The run of the machine. Empty if it is unknown, or if the continuous clock isn't the system's.
    private var boot = ""
    private var isOfThisProcess = false
    /// Whether the skew is from before a restart of the machine. The server's time can then be later, but not earlier.
    var isLeast = false

    init() {}

    init(_ time: any TimeSource) {
        let (now, system) = (time.continuousTime(), SystemTime().continuousTime())
        (wall, continuous) = (time.wallTime().milliseconds, Int64(now.inMilliseconds))
        if (.zero..<Duration.seconds(10)).contains(system - now) { boot = SystemFileSystem().bootID }
        isOfThisProcess = true
    }

    init?(_ object: Properties) {
        guard case .int(let milliseconds)? = object["skew"] else { return nil }
        self.milliseconds = milliseconds
        isLeast = object["least"] == true
        // An earlier version wrote the skew only, which then counts for a wall clock that began in 1970.
        if case .int(let wall)? = object["wall"], case .int(let continuous)? = object["continuous"] {
            (self.wall, self.continuous, boot) = (wall, continuous, object["boot"]?.string ?? "")
        }
    }

    var object: Properties {
        guard let milliseconds else { return [:] }
        return [
            "skew": .int(milliseconds), "wall": .int(wall), "continuous": .int(continuous), "boot": .string(boot),
            "least": .bool(isLeast),
        ]
    }

    /// The skew without a response since. If the wall clock was set by a second or more, which is the resolution of `Date`,
    /// the skew has changed by as much.
    ///
    /// After a restart of the machine, no one knows whether the clock was set. The wall clock is then believed, unless it shows
    /// a time that was over on the server. The skew is then the least one that is possible, until the clock is set.
    func moved(to now: ClockSkew) -> ClockSkew {
        var moved = now
        guard let milliseconds else { return moved }
        guard isSameRun(as: now) else {
            let least = wall &+ milliseconds &- now.wall
            if least > 0 { (moved.milliseconds, moved.isLeast) = (max(least, milliseconds), true) }
            return moved
        }
        let change = now.wall &- wall &- (now.continuous &- continuous)
        let changed = isLeast ? max(milliseconds &- change, 0) : milliseconds &- change
        let set = changed.magnitude < 1_000 ? 0 : changed
        (moved.milliseconds, moved.isLeast) = (change.magnitude < 1_000 ? milliseconds : set, isLeast)
        return moved
    }

    private func isSameRun(as now: ClockSkew) -> Bool {
        isOfThisProcess || !boot.isEmpty && now.boot == boot && now.continuous >= continuous
    }

    /// Whether the skew has changed, the readings are of another run of the machine, or a later time of the server should be
    /// kept for one.
    func isOld(beside new: ClockSkew) -> Bool {
        milliseconds != new.milliseconds || isLeast != new.isLeast || !isSameRun(as: new)
            || max((new.wall &- wall).magnitude, (new.continuous &- continuous).magnitude) > 3_600_000
    }
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
        (both.lowest, both.highest) = (max(lowest, new.lowest), min(highest, new.highest))
        if both.lowest > both.highest { return new }
        return both.highest - both.lowest < ClockBounds.minimumWidth ? self : both
    }

    /// Returns the old skew if it is within the bounds. Otherwise returns zero if zero is within them, and otherwise
    /// their middle. `ahead` is how far the wall clock is ahead of the continuous clock.
    func skew(from ahead: Int64, keeping old: Int64?) -> Int64 {
        let range = lowest - ahead...highest - ahead
        return [old, 0].compactMap { $0 }.first(where: range.contains) ?? lowest + (highest - lowest) / 2 - ahead
    }
}
