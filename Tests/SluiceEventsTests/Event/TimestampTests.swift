import Foundation
import SluiceTesting
import Testing

@testable import SluiceEvents

@Suite struct TimestampTests {
    private static let range = Timestamp.writable.lowerBound.milliseconds...Timestamp.writable.upperBound.milliseconds

    @Test("text reads back over the whole range, and is greater for a later time", arguments: UInt64(1)...20)
    func textReadsBackOverWholeRange(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var last = Timestamp(milliseconds: 0)
        for _ in 0..<1_000 {
            let time = Timestamp(milliseconds: .random(in: Self.range, using: &random))
            #expect(Timestamp(time.description) == time)
            #expect((last < time) == (last.description < time.description))
            last = time
        }
    }

    @Test("another calendar agrees on every day of two centuries")
    func anotherCalendarAgreesForTwoCenturies() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
        for day in Int64(-36_525)..<36_525 {
            let date = calendar.dateComponents(
                [.year, .month, .day], from: Date(timeIntervalSince1970: TimeInterval(day * 86_400)))
            let civil = CivilDate(daysSince1970: day)
            #expect(date.year == Int(civil.year) && date.month == Int(civil.month) && date.day == Int(civil.day))
            #expect(civil.daysSince1970 == day)
        }
    }

    @Test("every day of the range reads back")
    func everyDayReadsBack() {
        // 146,097 days make one cycle of the calendar; the range holds 25 of them, without a year.
        let first = Self.range.lowerBound / 86_400_000
        for day in first..<first + 25 * 146_097 where CivilDate(daysSince1970: day).daysSince1970 != day {
            Issue.record("day \(day)")
        }
    }

    @Test(
        "known timestamps have the expected text, and those beyond the range that of its ends",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"), (1, "1970-01-01T00:00:00.001Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"), (1_795_240_516_123, "2026-11-21T05:55:16.123Z"),
            (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"), (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (-2_203_891_200_001, "1900-02-28T23:59:59.999Z"), (.min, "0001-01-01T00:00:00.000Z"),
            (-62_135_596_800_001, "0001-01-01T00:00:00.000Z"), (.max, "9999-12-31T23:59:59.999Z"),
            (253_402_300_800_000, "9999-12-31T23:59:59.999Z"),
        ] as [(Int64, String)])
    func knownTimestamps(milliseconds: Int64, text: String) {
        #expect(Timestamp(milliseconds: milliseconds).description == text)
        #expect(Timestamp(text)?.milliseconds == min(max(milliseconds, Self.range.lowerBound), Self.range.upperBound))
    }

    @Test(
        "other text is refused",
        arguments: [
            "", "Z", "2026-11-21T05:55:16.123", "2026-11-21T05:55:16.123z", "2026-11-21T05:55:16Z", "2026-11-21",
            "2026-11-21 05:55:16.123Z", "2026-11-21T05:55:16,123Z", "2026-11-21T05:55:16.123+00:00",
            "2026-13-21T05:55:16.123Z", "2026-00-21T05:55:16.123Z", "2026-11-00T05:55:16.123Z",
            "2026-11-31T05:55:16.123Z", "2026-02-29T05:55:16.123Z", "1900-02-29T00:00:00.000Z",
            "2026-11-21T24:00:00.000Z", "2026-11-21T05:60:16.123Z", "2026-11-21T05:55:60.123Z",
            "2026-11-21T05:55:16.12Z", "2026-11-21T05:55:16.1234Z", "-026-11-21T05:55:16.123Z",
            "+026-11-21T05:55:16.123Z", "12026-11-21T05:55:16.123Z", "2026-1-21T05:55:16.123Z",
            "2026/11/21T05:55:16.123Z", "0000-12-31T23:59:59.999Z", " 2026-11-21T05:55:16.123Z",
            "2026-11-21T05:55:16.123ZZ", "2026-11-21T05:55:16.12\u{663}Z",
        ])
    func otherTextIsRefused(text: String) { #expect(Timestamp(text) == nil) }
}
