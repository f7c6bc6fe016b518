/// The folders of a lake, named as Hive names partitions, so readers take them for columns.
///
/// ```swift
/// let lake = FileTransport(at: "/var/lake/events", partition: .hour)
/// ```
public enum EventPartition: Sendable, Hashable {
    /// A folder for each date: `date=2026-11-27`.
    case day
    /// A folder for each hour of a date: `date=2026-11-27/hour=05`. Use it from some millions of events a day.
    case hour
}

/// Finds the folder of an event by its time.
package struct EventCalendar: Sendable {
    private let partition: EventPartition
    private let utcOffset: @Sendable (Timestamp) -> Duration

    /// `utcOffset` returns the time of the host's zone minus UTC.
    package init(_ partition: EventPartition, utcOffset: @escaping @Sendable (Timestamp) -> Duration) {
        (self.partition, self.utcOffset) = (partition, utcOffset)
    }

    private static let day: Int64 = 86_400_000

    /// The time of the zone, within the dates that readers know.
    package func local(_ time: Timestamp) -> Timestamp {
        let time = time.clamped
        let seconds = min(max(utcOffset(time).components.seconds, -86_400), 86_400)
        return Timestamp(milliseconds: time.milliseconds + seconds * 1_000).clamped
    }

    /// A number for each folder, by the time of the zone.
    package func number(of local: Timestamp) -> Int64 {
        let length = partition == .day ? Self.day : Self.day / 24
        // Rounded down, also before 1970.
        return (local.milliseconds - Timestamp.writable.lowerBound.milliseconds) / length
    }

    /// The path of a folder below the lake.
    package func folder(of local: Timestamp) -> String {
        let text = local.description
        let date = EventCalendar.prefix + text.prefix(10)
        return partition == .day ? date : "\(date)/hour=\(text.dropFirst(11).prefix(2))"
    }

    private static let prefix = "date="

    /// The midnight after a date's folder, in the time of the zone. Nil if it isn't the name of such a folder.
    package static func end(ofFolder name: String) -> Timestamp? {
        guard name.hasPrefix(prefix), let start = Timestamp(name.dropFirst(prefix.count) + "T00:00:00.000Z") else {
            return nil
        }
        return Timestamp(milliseconds: start.milliseconds + day)
    }

    /// The midnight after a time of the zone.
    package static func end(ofDayOf local: Timestamp) -> Timestamp {
        let days = (local.milliseconds - Timestamp.writable.lowerBound.milliseconds) / day
        return Timestamp(milliseconds: Timestamp.writable.lowerBound.milliseconds + (days + 1) * day)
    }
}
