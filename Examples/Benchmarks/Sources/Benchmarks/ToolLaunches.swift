import CBenchmarks
import Foundation

/// A command-line tool of a moment, without Sluice and with it, and the delivery of what its launches left.
struct ToolLaunches: Candidate {
    private static let launches = 30

    let rows = [
        Row(name: "tool", description: "a launch of a tool that counts lines", unit: .launch, baseline: nil),
        Row(name: "tool-leave", description: "the same, and its event stays on disk", unit: .launch, baseline: "tool"),
        Row(name: "tool-start", description: "the same, and a sender is started", unit: .launch, baseline: "tool"),
        Row(name: "tool-send", description: "the same, and its event is sent", unit: .launch, baseline: "tool"),
        Row(name: "tool-offline", description: "the same, without a server", unit: .launch, baseline: "tool"),
        Row(
            name: "tool-requests", description: "requests of one process for the events that 30 launches left",
            unit: Unit(name: "requests"), baseline: nil),
    ]
    let sink: String

    func measure(_ events: Int, in folder: String) throws -> [Double] {
        let file = folder + "/text"
        try String(repeating: "a line\n", count: 1_000).write(toFile: file, atomically: false, encoding: .utf8)
        let nowhere = "http://127.0.0.1:9/events"
        let plain = try launches("Tool", [file])
        let leave = try launches("TrackingTool", ["leave", folder + "/left", sink, file])
        let start = try launches("TrackingTool", ["start", folder + "/started", sink, file])
        let send = try launches("TrackingTool", ["send", folder + "/sent", sink, file])
        let offline = try launches("TrackingTool", ["send", folder + "/offline", nowhere, file])
        let delivered = try run("TrackingTool", ["deliver", folder + "/left", sink]).split(separator: " ")
        try Failure.unless(delivered.first.flatMap { Int($0) } ?? 0, is: ToolLaunches.launches, "delivered events")
        return [plain, leave, start, send, offline, delivered.last.flatMap { Double($0) } ?? 0]
    }

    /// The processor time of one of many launches, in milliseconds.
    private func launches(_ tool: String, _ arguments: [String]) throws -> Double {
        let before = benchmarks_children_milliseconds()
        for _ in 0..<ToolLaunches.launches {
            guard try run(tool, arguments) == "1000" else { throw Failure("\(tool) has counted wrong") }
        }
        return (benchmarks_children_milliseconds() - before) / Double(ToolLaunches.launches)
    }
}

extension Unit {
    fileprivate static let launch = Unit(name: "ms CPU/launch", decimals: 1)
}
