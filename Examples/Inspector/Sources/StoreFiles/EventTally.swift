import Sluice

/// The counts of the events that match a query. Its memory is bounded.
package struct EventTally: Sendable {
    /// The counts of different texts, such as names.
    package struct Counts: Sendable {
        private var counts: [String: Int] = [:]
        /// The events whose text is not counted, because there are too many different ones.
        package private(set) var others = 0

        private static let most = 10_000
        private static let longest = 200

        mutating func add(_ text: String) {
            let key = text.utf8.count <= Counts.longest ? text : String(text.prefix(Counts.longest / 4)) + "…"
            if counts[key] == nil, counts.count >= Counts.most { return others += 1 }
            counts[key, default: 0] += 1
        }

        /// The number of different texts: at least this many, if there are ``others``.
        package var distinct: Int { counts.count }

        /// The most frequent texts, the first ones in alphabetical order if equally frequent.
        package func top(_ limit: Int) -> [(text: String, count: Int)] {
            Array(counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(limit)).map { ($0.key, $0.value) }
        }
    }

    package private(set) var events = 0
    package private(set) var names = Counts()
    package private(set) var users = Counts()
    package private(set) var sessions = Counts()
    package private(set) var times = TimeBuckets()

    package init() {}

    mutating func add(_ event: EventFields) {
        events += 1
        names.add(event.name)
        if let user = event.user { users.add(user) }
        if let session = event.session { sessions.add(session) }
        times.add(event.time.milliseconds)
    }
}

/// The number of events in each of a bounded number of equal periods.
package struct TimeBuckets: Sendable {
    /// The length of a period, in milliseconds.
    package private(set) var width: Int64 = TimeBuckets.seconds[0] * 1_000
    /// By the number of the period since 1970.
    package private(set) var counts: [Int64: Int] = [:]
    private var bounds: ClosedRange<Int64>?

    private static let most = 240
    /// The lengths that people read easily. Each one is a multiple of the one before. Longer ones are doubled.
    private static let seconds: [Int64] = [1, 5, 15, 60, 300, 900, 3_600, 10_800, 43_200, 86_400, 604_800]

    mutating func add(_ time: Int64) {
        counts[period(of: time), default: 0] += 1
        bounds = min(bounds?.lowerBound ?? time, time)...max(bounds?.upperBound ?? time, time)
        // Far times need long periods.
        while let bounds, period(of: bounds.upperBound) - period(of: bounds.lowerBound) >= TimeBuckets.most { widen() }
    }

    private mutating func widen() {
        let longer = TimeBuckets.seconds.first { $0 * 1_000 > width }.map { $0 * 1_000 } ?? width * 2
        let ratio = longer / width
        counts = Dictionary(counts.map { (quotient($0.key, ratio), $0.value) }, uniquingKeysWith: +)
        width = longer
    }

    /// The beginning of each period, in milliseconds since 1970, and its count.
    package var periods: [(start: Int64, count: Int)] {
        counts.sorted { $0.key < $1.key }.map { period, count in
            let (start, overflows) = period.multipliedReportingOverflow(by: width)
            return (overflows ? .min : start, count)
        }
    }

    private func period(of time: Int64) -> Int64 { quotient(time, width) }

    /// Rounded down.
    private func quotient(_ number: Int64, _ divisor: Int64) -> Int64 {
        number / divisor - (number % divisor < 0 ? 1 : 0)
    }
}
