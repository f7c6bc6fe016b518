import Sluice

extension Timestamp {
    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

    /// Reads the three forms that RFC 9110 requires: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`
    /// and `Sun Nov  6 08:49:37 1994`. Returns nil for anything else.
    init?(httpDate text: String) {
        guard text.utf8.count <= 40 else { return nil }
        var words = text.lowercased().split { " ,-".contains($0) }
        guard !words.isEmpty else { return nil }
        words.removeFirst()
        if words.count == 4 { words = [words[1], words[0], words[3], words[2], "gmt"] }
        guard words.count == 5, words[4] == "gmt" else { return nil }
        let (day, month, year, time) = (words[0], words[1], words[2], words[3])
        let parts = time.split(separator: ":", omittingEmptySubsequences: false)
        guard let month = Timestamp.months.firstIndex(where: { $0 == month }), parts.count == 3,
            let day = Timestamp.number(day, 1...2), let hour = Timestamp.number(parts[0], 2...2),
            let minute = Timestamp.number(parts[1], 2...2), let second = Timestamp.number(parts[2], 2...2),
            second <= 60, let year = Timestamp.year(year)
        else { return nil }
        // HTTP allows leap seconds, but timestamps don't. The second before is used.
        self.init(year: year, month: Int64(month) + 1, day: day, hour: hour, minute: minute, second: min(second, 59))
    }

    private static func number(_ text: Substring, _ width: ClosedRange<Int>) -> Int64? {
        width.contains(text.utf8.count) && String(text).isDigits ? Int64(text) : nil
    }

    /// Years of two digits, which have been obsolete since 1995, are in 1970…2069.
    private static func year(_ text: Substring) -> Int64? {
        number(text, 4...4) ?? number(text, 2...2).map { $0 < 70 ? 2_000 + $0 : 1_900 + $0 }
    }
}
