extension EventTrace: CustomStringConvertible {
    /// A table with a line for each stage and each route, and further lines for a stage with several changes.
    ///
    /// Names and values are shortened to 40 characters, and at most five changes of a stage are shown. Use ``stages``
    /// for everything:
    ///
    /// ```swift
    /// func changes(in trace: EventTrace) -> [String] {
    ///     trace.stages.flatMap(\.changes).map(\.description)
    /// }
    /// ```
    public var description: String {
        let origin = startsBelow.map { ", below \($0)" } ?? ""
        let title = "\(Change.shortened(event.name)) \(event.id)\(origin): \(result)"
        let rows = [["stage", "time", "result", "changes"]] + stages.flatMap(\.rows) + routes.map(\.row)
        let widths = (0..<3).map { column in rows.map { $0[column].count }.max() ?? 0 }
        let lines = rows.map { row in
            var line = "  " + row[0] + EventTrace.spaces(widths[0] - row[0].count + 2)
            line += EventTrace.spaces(widths[1] - row[1].count) + row[1] + "  "
            line += row[2] + EventTrace.spaces(widths[2] - row[2].count + 2) + row[3]
            while line.last == " " { line.removeLast() }
            return line
        }
        return ([title] + (rows.count > 1 ? lines : [])).joined(separator: "\n")
    }

    /// The result of the event, for the first line.
    private var result: String {
        guard disposition == .keep else { return disposition.text(kept: "kept") }
        return routes.map { "\($0.disposition.text(kept: "stored")) in \($0.name)" }.joined(separator: ", ")
    }

    fileprivate static func spaces(_ count: Int) -> String { String(repeating: " ", count: count) }

    /// Microseconds with one decimal.
    fileprivate static func text(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let tenths = (Double(seconds) * 10_000_000 + Double(attoseconds) / 100_000_000_000).rounded()
        return "\(tenths / 10) µs"
    }
}

extension Disposition {
    fileprivate func text(kept: String) -> String {
        switch kind {
        case .keep: kept
        case .drop(let reason): "dropped (\(reason.rawValue))"
        case .hold: "held"
        }
    }
}

extension EventTrace.Stage {
    private static let maximumChanges = 5

    fileprivate var rows: [[String]] {
        var texts = changes.prefix(Self.maximumChanges).map(\.description)
        if changes.count > Self.maximumChanges { texts.append("and \(changes.count - Self.maximumChanges) more") }
        let label = route.map { "\($0)/\(name)" } ?? name
        let first = [label, EventTrace.text(duration), disposition.text(kept: "kept"), texts.first ?? ""]
        return [first] + texts.dropFirst().map { ["", "", "", $0] }
    }
}

extension EventTrace.RouteResult {
    fileprivate var row: [String] {
        let time = duration == .zero ? "" : EventTrace.text(duration)
        return ["-> \(name)", time, disposition.text(kept: "stored"), error?.message ?? ""]
    }
}

extension EventTrace.Change: CustomStringConvertible {
    /// The change in one line, such as `+ currency = "EUR"`. Names and values are shortened to 40 characters.
    public var description: String {
        switch self {
        case .property(let name, let old, let new), .field(let name, let old, let new):
            Self.text(Self.shortened(name), old?.description, new?.description)
        case .sanitized(let cause): "! \(cause.rawValue)"
        }
    }

    private static func text(_ name: String, _ old: String?, _ new: String?) -> String {
        let values = [old, new].map { $0.map { shortened($0, isQuoted: true) } }
        return switch (values[0], values[1]) {
        case (nil, let new?): "+ \(name) = \(new)"
        case (let old?, nil): "- \(name) = \(old)"
        case (let old?, let new?): "~ \(name) = \(old) -> \(new)"
        case (nil, nil): name
        }
    }

    /// Returns the text as JSON. A text with line breaks then stays in its line of the table.
    private static func quoted(_ text: String) -> String { PropertyValue.string(text).description }

    fileprivate static func shortened(_ text: String, isQuoted: Bool = false) -> String {
        let isPlain = !text.isEmpty && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
        let text = isQuoted || isPlain ? text : quoted(text)
        return text.count > 40 ? text.prefix(39) + "…" : text
    }
}
