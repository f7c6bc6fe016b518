import Foundation

/// A bar chart of the time of an event in the rows with a label, as SVG. All bars start at zero.
struct Chart {
    let lines: [Report.Line]
    let caption: String

    private static let (width, rowHeight, top, left, right) = (760.0, 30.0, 58.0, 250.0, 90.0)

    private struct Scale {
        /// The distance of two lines of the grid, and the value of the last one.
        let (step, highest): (Double, Double)

        init(upTo longest: Double) {
            // 1, 2 or 5 times a power of ten, for four to ten lines.
            let decade = pow(10, log10(longest / 2).rounded(.down))
            step = [0.5, 1, 2].map { $0 * decade }.first { longest / $0 <= 8 } ?? 5 * decade
            highest = (longest / step).rounded(.up) * step
        }

        func x(_ nanoseconds: Double) -> Double {
            Chart.left + nanoseconds / highest * (Chart.width - Chart.left - Chart.right)
        }
    }

    var svg: String {
        let bars = lines.filter { $0.row.label != nil }.sorted { $0.busy < $1.busy }
        let scale = Scale(upTo: bars.last?.busy ?? 1_000)
        let bottom = Chart.top + Double(bars.count) * Chart.rowHeight
        let height = bottom + 52
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(number(Chart.width)) \(number(height))" \
            width="\(number(Chart.width))" height="\(number(height))" role="img" aria-label="Processor time of an event">
            <style>
            text { font: 14px -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
            .title { font-size: 16px; font-weight: 600 }
            .small { font-size: 12px; fill: #59636e }
            .grid { stroke: #d1d9e0 }
            .other { fill: #8c959f }
            .sluice { fill: #0969da }
            @media (prefers-color-scheme: dark) {
            text { fill: #f0f6fc }
            .small { fill: #9198a1 }
            .grid { stroke: #3d444d }
            .other { fill: #6e7681 }
            .sluice { fill: #4493f8 }
            }
            </style>
            <text class="title" x="0" y="18">Processor time to record an event</text>
            <text class="small" x="0" y="38">median of all rounds; less is better</text>
            \(grid(scale, to: bottom))
            \(bars.enumerated().map { bar($1, at: $0, scale) }.joined(separator: "\n"))
            <text class="small" x="0" y="\(number(bottom + 42))">\(caption)</text>
            </svg>

            """
    }

    private func grid(_ scale: Scale, to bottom: Double) -> String {
        stride(from: 0, through: scale.highest, by: scale.step).map { value in
            let x = number(scale.x(value))
            return """
                <line class="grid" x1="\(x)" y1="\(number(Chart.top - 8))" x2="\(x)" y2="\(number(bottom))"/>
                <text class="small" x="\(x)" y="\(number(bottom + 18))" text-anchor="middle">\(time(value))</text>
                """
        }
        .joined(separator: "\n")
    }

    private func bar(_ line: Report.Line, at index: Int, _ scale: Scale) -> String {
        let y = Chart.top + Double(index) * Chart.rowHeight
        let end = scale.x(line.busy)
        let label = line.row.label ?? ""
        return """
            <text x="\(number(Chart.left - 10))" y="\(number(y + 17))" text-anchor="end">\(label)</text>
            <rect class="\(label.hasPrefix("Sluice") ? "sluice" : "other")" x="\(number(Chart.left))" y="\(number(y + 3))" \
            width="\(number(end - Chart.left))" height="20"/>
            <text x="\(number(end + 8))" y="\(number(y + 18))">\(time(line.busy))</text>
            """
    }

    private func number(_ value: Double) -> String { String(format: "%g", (value * 10).rounded() / 10) }

    private func time(_ nanoseconds: Double) -> String {
        switch nanoseconds {
        case 0: "0"
        case ..<1_000: String(format: "%.0f ns", nanoseconds)
        case ..<10_000: String(format: "%.1f µs", nanoseconds / 1_000).replacingOccurrences(of: ".0 ", with: " ")
        default: String(format: "%.0f µs", nanoseconds / 1_000)
        }
    }
}
