import Foundation

/// The values of all rows, in the order of the candidates.
struct Report {
    private let rows: [Row]
    /// One value for each round.
    private var rounds: [String: [Double]] = [:]

    init(rows: [Row]) { self.rows = rows }

    mutating func add(_ values: [Double], of rows: [Row]) {
        for (row, value) in zip(rows, values) { rounds[row.name, default: []].append(value) }
    }

    /// A row with its results.
    struct Line {
        let row: Row
        /// The median: the machine as it is.
        let busy: Double
        /// The best value: the machine while it does little else. The median if the row is a difference.
        let quiet: Double
        /// The quotients by the baseline.
        var ratio: (busy: Double, quiet: Double)?

        func text(_ value: Double) -> String { String(format: "%.\(row.unit.decimals)f", value) }
        func ratioText(_ path: KeyPath<(busy: Double, quiet: Double), Double>) -> String {
            ratio.map { String(format: "%.2f", $0[keyPath: path]) } ?? "–"
        }
    }

    /// The rows that were measured.
    var lines: [Line] {
        rows.compactMap { row in
            guard var line = line(row) else { return nil }
            if let baseline = rows.first(where: { $0.name == row.baseline }).flatMap({ self.line($0) }) {
                line.ratio = (line.busy / baseline.busy, line.quiet / baseline.quiet)
            }
            return line
        }
    }

    private func line(_ row: Row) -> Line? {
        guard let sorted = rounds[row.name]?.sorted(), let first = sorted.first, let last = sorted.last else {
            return nil
        }
        let middle = sorted.count / 2
        let median = sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
        let best = row.unit.isMoreBetter ? last : first
        return Line(row: row, busy: median, quiet: row.isDifference ? median : best)
    }

    var json: String {
        lines.map { line in
            let baseline = line.ratio == nil ? "null" : line.row.baseline.map { #""\#($0)""# } ?? "null"
            let ratio = line.ratio == nil ? "null" : line.ratioText(\.busy)
            return #"{"row":"\#(line.row.name)","value":\#(line.text(line.busy)),"unit":"\#(line.row.unit.name)","#
                + #""baseline":\#(baseline),"ratio":\#(ratio),"quiet":\#(line.text(line.quiet))}"#
        }
        .joined(separator: "\n")
    }

    private var cells: [[String]] {
        [["row", "busy", "quiet", "unit", "busy x", "quiet x", "of", "work"]]
            + lines.map { line in
                [
                    line.row.name, line.text(line.busy), line.text(line.quiet), line.row.unit.name,
                    line.ratioText(\.busy), line.ratioText(\.quiet), line.ratio == nil ? "–" : line.row.baseline ?? "–",
                    line.row.description,
                ]
            }
    }

    var text: String {
        let cells = cells
        let widths = cells[0].indices.map { column in cells.map { $0[column].count }.max() ?? 0 }
        return cells.map { line in
            line.indices.map { column in
                let padding = String(repeating: " ", count: widths[column] - line[column].count)
                // Numbers to the right.
                return [1, 2, 4, 5].contains(column) ? padding + line[column] : line[column] + padding
            }
            .joined(separator: "  ").trimmingCharacters(in: .whitespaces)
        }
        .joined(separator: "\n")
    }

    var markdown: String {
        let cells = cells
        let rows = cells.dropFirst().map { ["`\($0[0])`"] + $0[1...6] + [$0[7]] }
        return ([cells[0], ["---", "--:", "--:", "---", "--:", "--:", "---", "---"]] + rows)
            .map { "| \($0.joined(separator: " | ")) |" }
            .joined(separator: "\n")
    }
}
