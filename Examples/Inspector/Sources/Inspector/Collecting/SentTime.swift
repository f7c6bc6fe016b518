import Sluice

extension Timestamp {
    /// Reads the time of another sender: a text of RFC 3339, or a number since 1970. Returns nil for any other value, and for
    /// times that aren't ``writable``.
    init?(sent value: PropertyValue) {
        switch value {
        case .date(let date): self = date
        case .string(let text): self.init(rfc3339: text)
        case .int(let number): self.init(number: Double(number))
        case .double(let number): self.init(number: number)
        default: return nil
        }
        guard Timestamp.writable.contains(self) else { return nil }
    }

    /// Seconds, or milliseconds from 100,000,000,000 on. That many seconds after 1970 is the year 5138, and that many
    /// milliseconds is 1973.
    private init?(number: Double) {
        guard let milliseconds = Int64(exactly: (number.magnitude < 1e11 ? number * 1_000 : number).rounded()) else {
            return nil
        }
        self.init(milliseconds: milliseconds)
    }

    /// `2026-11-21T05:55:16Z`, with any number of digits of a second, and with an offset such as `+02:00` instead of the Z. The
    /// letters may be lowercase, and a space may replace the T.
    private init?(rfc3339 text: String) {
        let form = /([0-9-]+)[Tt ]([0-9:]+)(?:\.([0-9]+))?(?:[Zz]|([+-])([0-9:]+))/
        guard let (_, day, time, fraction, sign, offset) = text.wholeMatch(of: form)?.output,
            let local = Timestamp("\(day)T\(time).\(((fraction ?? "") + "000").prefix(3))Z"),
            let zone = Timestamp("1970-01-01T\(offset ?? "00:00"):00.000Z")
        else { return nil }
        self.init(milliseconds: local.milliseconds + (sign == "-" ? 1 : -1) * zone.milliseconds)
    }
}
