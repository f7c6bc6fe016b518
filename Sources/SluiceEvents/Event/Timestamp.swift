/// A wall time in whole milliseconds since 1970-01-01T00:00:00Z, without leap seconds.
///
/// ```swift
/// let launch = Timestamp(milliseconds: 1_800_000_000_000)
/// pipeline.track("Launch", ["date": .date(launch)])
/// ```
public struct Timestamp: Sendable, Hashable, Comparable {
    /// The milliseconds since 1970-01-01T00:00:00Z.
    public var milliseconds: Int64

    /// Creates a timestamp from milliseconds since 1970-01-01T00:00:00Z.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Returns whether `left` is earlier than `right`.
    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }

    /// The timestamps that can be written: 0001-01-01T00:00:00.000Z to 9999-12-31T23:59:59.999Z. Many readers refuse the
    /// year 0, and later years don't have four digits.
    ///
    /// A ``PropertyValue/date(_:)-swift.enum.case`` outside this range becomes null when you add it to ``Properties``.
    public static var writable: ClosedRange<Timestamp> {
        Timestamp(milliseconds: -62_135_596_800_000)...Timestamp(milliseconds: 253_402_300_799_999)
    }

    /// The nearest timestamp in ``writable``.
    package var clamped: Timestamp { min(max(self, Timestamp.writable.lowerBound), Timestamp.writable.upperBound) }
}

extension Timestamp: LosslessStringConvertible {
    /// ISO 8601 in UTC with milliseconds, such as `2026-11-21T05:55:16.123Z`, clamped to ``writable``.
    public var description: String {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Timestamp.digitsLength) { buffer in
            clamped.writeDigits(into: buffer)
            return String(decoding: buffer, as: UTF8.self) + "Z"
        }
    }

    /// Reads the form of ``description``, `2026-11-21T05:55:16.123Z`. Returns nil for any other.
    ///
    /// ```swift
    /// let launch = Timestamp("2026-11-21T05:55:16.123Z")
    /// ```
    public init?(_ description: String) {
        guard description.hasSuffix("Z") else { return nil }
        var digits = String(description.dropLast())
        guard let timestamp = digits.withUTF8({ Timestamp(digits: $0) }) else { return nil }
        self = timestamp
    }

    /// The length of `2026-11-21T05:55:16.123`.
    package static let digitsLength = 23
    private static let marks = Array(zip([4, 7, 10, 13, 16, 19], "--T::.".utf8))

    /// Writes the ``digitsLength`` characters before the zone letter. The timestamp must be ``writable``.
    package func writeDigits(into buffer: UnsafeMutableBufferPointer<UInt8>) {
        let rest = (milliseconds % 86_400_000 + 86_400_000) % 86_400_000
        let date = CivilDate(daysSince1970: (milliseconds - rest) / 86_400_000)
        func put(_ value: Int64, width: Int, at offset: Int) {
            var value = value
            for index in stride(from: offset + width - 1, through: offset, by: -1) {
                buffer[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value % 10)
                value /= 10
            }
        }
        for (offset, mark) in Timestamp.marks { buffer[offset] = mark }
        put(date.year, width: 4, at: 0)
        put(date.month, width: 2, at: 5)
        put(date.day, width: 2, at: 8)
        put(rest / 3_600_000, width: 2, at: 11)
        put(rest / 60_000 % 60, width: 2, at: 14)
        put(rest / 1_000 % 60, width: 2, at: 17)
        put(rest % 1_000, width: 3, at: 20)
    }

    /// Reads the form of ``writeDigits(into:)``. Returns nil for any other, and for dates that aren't ``writable`` or don't
    /// exist, such as a 30th of February.
    package init?(digits: UnsafeBufferPointer<UInt8>) {
        guard digits.count == Timestamp.digitsLength else { return nil }
        func number(_ offset: Int, _ width: Int) -> Int64? {
            var value: Int64 = 0
            for index in offset..<offset + width {
                let digit = digits[index] &- UInt8(ascii: "0")
                guard digit < 10 else { return nil }
                value = value * 10 + Int64(digit)
            }
            return value
        }
        guard Timestamp.marks.allSatisfy({ digits[$0] == $1 }),
            let year = number(0, 4), year > 0, let month = number(5, 2), let day = number(8, 2),
            let hour = number(11, 2), let minute = number(14, 2), let second = number(17, 2),
            let millisecond = number(20, 3),
            let seconds = Timestamp(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        else { return nil }
        milliseconds = seconds.milliseconds + millisecond
    }

    /// A time of UTC. Returns nil if the date or the time of day doesn't exist; leap seconds don't.
    package init?(year: Int64, month: Int64, day: Int64, hour: Int64, minute: Int64, second: Int64) {
        guard (0..<24).contains(hour), (0..<60).contains(minute), (0..<60).contains(second),
            let days = CivilDate(year: year, month: month, day: day).daysSince1970
        else { return nil }
        milliseconds = ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1_000
    }
}

/// A date of the proleptic Gregorian calendar.
///
/// The arithmetic is from Howard Hinnant's "chrono-compatible low-level date algorithms": years begin in March, with
/// the leap day at their end, and are grouped in eras of 400 years.
struct CivilDate: Equatable {
    var year: Int64
    var month: Int64
    var day: Int64
}

extension CivilDate {
    init(daysSince1970 days: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// Nil if the date doesn't exist.
    var daysSince1970: Int64? {
        guard (1...12).contains(month), (1...31).contains(day) else { return nil }
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        return CivilDate(daysSince1970: days) == self ? days : nil
    }
}
