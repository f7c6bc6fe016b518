import Foundation

/// One row of the table.
struct Row {
    /// The name for `--filter` and `--json`.
    let name: String
    let description: String
    var unit = Unit.cpu
    /// The row that this one is compared with.
    var baseline: String? = BareWrite.name
    /// The name in the chart; nil if the row isn't a way to record an event.
    var label: String?
    /// Whether the value is the difference of two measurements. The smallest difference says nothing about a quiet machine.
    var isDifference = false
}

struct Unit {
    let name: String
    var isMoreBetter = false
    var decimals = 0

    /// Nanoseconds of processor time for each event.
    static let cpu = Unit(name: "ns CPU/event")
    static let throughput = Unit(name: "events/s", isMoreBetter: true)
    static let perEvent = Unit(name: "/event", decimals: 2)
}

/// A piece of work that is measured.
protocol Candidate {
    /// One row for each value that ``measure(_:in:)`` returns.
    var rows: [Row] { get }

    /// Does the work once, and checks that it was really done.
    ///
    /// - Parameters:
    ///   - events: the number of events.
    ///   - folder: an empty folder for this call.
    /// - Returns: a value for each row, without the cost of setting up and checking. Empty if this system can't measure it.
    func measure(_ events: Int, in folder: String) async throws -> [Double]
}

/// The reason why a measurement is void.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }

    static func unless(_ found: Int, is expected: Int, _ unit: String) throws {
        if found != expected { throw Failure("\(found) \(unit) instead of \(expected)") }
    }
}

extension Candidate {
    /// What a tool beside this program prints.
    func run(_ tool: String, _ arguments: [String]) throws -> String {
        let (process, output) = (Process(), Pipe())
        let folder = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        process.executableURL = folder.appending(path: tool)
        process.arguments = arguments
        process.standardOutput = output
        try process.run()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        try Failure.unless(Int(process.terminationStatus), is: 0, "as the status of \(tool)")
        return String(decoding: text, as: UTF8.self).trimmingCharacters(in: .newlines)
    }
}
