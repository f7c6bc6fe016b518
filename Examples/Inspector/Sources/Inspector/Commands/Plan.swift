import ArgumentParser
import Foundation
import SluicePlan
import StoreFiles

/// `sluice plan`
struct Plan: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Compares, prints and checks tracking plans.",
        discussion: """
            EXAMPLES
              sluice help plan check
            """,
        subcommands: [PlanDiff.self, PlanDoc.self, PlanCheckCommand.self])

    /// Reads a plan's file.
    static func read(_ path: String) throws -> TrackingPlan {
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw ValidationError("the plan \(path) can't be read: \(error.localizedDescription)")
        }
        do throws(SluiceError) {
            return try TrackingPlan(json: [UInt8](data), file: path)
        } catch {
            Terminal.note(error.message)
            throw ExitCode.failure
        }
    }
}

/// `sluice plan diff`
struct PlanDiff: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff", abstract: "Lists the changes between two versions of a plan.",
        discussion: """
            Exits with 1 if an event of the old plan can violate the new one, or if a plan is no plan.

            EXAMPLES
              sluice plan diff old.plan.json shop.plan.json
            """)

    @Argument(help: "The plan of the apps that are in use.", completion: .file())
    var old: String

    @Argument(help: "The plan that shall replace it.", completion: .file())
    var new: String

    func run() async throws {
        let changes = try Plan.read(new).changes(since: Plan.read(old))
        for change in changes {
            Terminal.write("\(change.isBreaking ? "breaking" : "        ") \(Terminal.printable(change.description))\n")
        }
        let breaking = changes.count { $0.isBreaking }
        Terminal.write("\(Terminal.counted(changes.count, "change")), \(breaking) of them breaking\n")
        if breaking > 0 { throw ExitCode.failure }
    }
}

/// `sluice plan doc`
struct PlanDoc: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doc", abstract: "Prints a plan as Markdown, with the owners and a list of personal data.",
        discussion: """
            EXAMPLES
              sluice plan doc shop.plan.json > events.md
            """)

    @Argument(help: "The plan.", completion: .file())
    var plan: String

    func run() async throws { Terminal.write(try Plan.read(plan).markdown) }
}

/// `sluice plan check`
struct PlanCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Checks the waiting events and dead letters of a folder.",
        discussion: """
            Exits with 1 if one of them differs from the plan, or can't be read.

            EXAMPLES
              sluice plan check events shop.plan.json
            """)

    @OptionGroup var store: FolderArgument

    @Argument(help: "The plan.", completion: .file())
    var plan: String

    /// Bounds the memory if a host puts variables into names.
    private static let mostViolations = 10_000

    func run() async throws {
        let plan = try Plan.read(plan)
        var counts: [String: Int] = [:]
        var (events, wrong) = (0, 0)
        var scan = FolderScan(EventQuery())
        var unreadable = 0
        try scan.read(store.folder()) { _ in
            true
        } onMatch: { found in
            guard found.isFirst, let line = found.place.line else { return }
            let event: Event
            do { event = try line.event() } catch { return unreadable += 1 }
            let violations = Set(plan.violations(ofStored: event).map(\.description))
            events += 1
            wrong += violations.isEmpty ? 0 : 1
            for violation in violations {
                let isKnown = counts[violation] != nil || counts.count < PlanCheckCommand.mostViolations
                counts[isKnown ? violation : "(other violations)", default: 0] += 1
            }
        }
        for (violation, count) in counts.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
            Terminal.write("\(count) \(Terminal.printable(violation))\n")
        }
        Terminal.write("\(Terminal.counted(events, "event")), different from the plan: \(wrong)\n")
        for problem in scan.problems { Terminal.note("\(problem)") }
        unreadable += scan.unreadable
        if unreadable > 0 {
            Terminal.note("left out: \(Terminal.counted(unreadable, "damaged or encrypted line")): see sluice verify")
        }
        guard wrong == 0, scan.problems.isEmpty, unreadable == 0 else { throw ExitCode.failure }
    }
}
