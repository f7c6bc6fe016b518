import Foundation

/// What was measured, row by row, in the order of the candidates.
struct Report {
    struct Row {
        let name: String
        let description: String
        /// Nanoseconds an event, one value a round.
        var rounds: [Double] = []

        var median: Double {
            let sorted = rounds.sorted()
            let middle = sorted.count / 2
            return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
        }
    }

    static let unit = "ns CPU/event"

    /// The row by whose median the others are divided.
    let baseline: String
    var rows: [Row]

    private func ratio(_ row: Row) -> Double {
        rows.first { $0.name == baseline }.map { row.median / $0.median } ?? .nan
    }

    var json: String {
        rows.map { row in
            let value = String(format: "%.0f", row.median)
            let ratio = String(format: "%.2f", ratio(row))
            return #"{"row":"\#(row.name)","value":\#(value),"unit":"\#(Report.unit)","baseline":"\#(baseline)","#
                + #""ratio":\#(ratio)}"#
        }
        .joined(separator: "\n")
    }

    var table: String {
        let cells =
            [["row", Report.unit, "x \(baseline)", "lowest", "highest", ""]]
            + rows.map { row in
                [
                    row.name, String(format: "%.0f", row.median), String(format: "%.2f", ratio(row)),
                    String(format: "%.0f", row.rounds.min() ?? .nan), String(format: "%.0f", row.rounds.max() ?? .nan),
                    row.description,
                ]
            }
        let widths = cells[0].indices.map { column in cells.map { $0[column].count }.max() ?? 0 }
        return cells.map { line in
            line.indices.map { column in
                let padding = String(repeating: " ", count: widths[column] - line[column].count)
                // Text to the left, numbers to the right.
                return (1...4).contains(column) ? padding + line[column] : line[column] + padding
            }
            .joined(separator: "  ").trimmingCharacters(in: .whitespaces)
        }
        .joined(separator: "\n")
    }
}
