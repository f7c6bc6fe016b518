extension EventLine {
    /// The stored line as JSON for a receiver: dates end with a plain Z. The store marks them by an escape, `\u005a`, which
    /// some databases don't read as a part of a date.
    ///
    /// ```swift
    /// let stored = try EventLine(Event(name: "Purchase", properties: ["at": .date(.now)]))
    /// let body = Array(stored.json) + Array("\n".utf8)
    /// ```
    ///
    /// - Complexity: O(number of bytes). Without a date, nothing is copied.
    public var json: ArraySlice<UInt8> { bytes.withPlainDates }
}

extension ArraySlice<UInt8> {
    /// The JSON with a plain Z instead of the store's mark for dates.
    package var withPlainDates: ArraySlice<UInt8> {
        let mark = #"\u005a""#.utf8
        var result: [UInt8] = []
        var start = startIndex
        var position = start
        while position < endIndex, let escape = self[position...].index(of: UInt8(ascii: "\\")) {
            position = escape + 2  // Behind the escaped character, which may be a backslash.
            guard self[escape...].starts(with: mark) else { continue }
            if result.isEmpty { result.reserveCapacity(count) }
            result += self[start..<escape]
            result.append(UInt8(ascii: "Z"))
            position = escape + mark.count - 1
            start = position
        }
        if start == startIndex { return self }
        result += self[start...]
        return result[...]
    }
}
