import ArgumentParser
import Sluice
import StoreFiles

/// `sluice dead`
struct Dead: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists dead letters by their date: date, event, id, reason and the receiver's words.",
        discussion: """
            EXAMPLES
              sluice dead events --by reason
              sluice dead events --reason "HTTP 400" --json | jq .event.properties
            """)

    /// The ways to count dead letters.
    enum Grouping: String, CaseIterable, ExpressibleByArgument {
        case reason
        case event
        case route
    }

    @OptionGroup var store: FolderArgument
    @OptionGroup var route: RouteOption

    @Option(help: "List only the dead letters whose reason contains this text.")
    var reason: String?

    @Option(help: "Count them instead: by reason and the receiver's words, by event, or by route.")
    var by: Grouping?

    @Flag(help: "Print each dead letter or count as a line of JSON.")
    var json = false

    func run() async throws {
        var groups = DeadLetterGroups()
        var lines: [(time: Int64, text: String)] = []
        let list = DeadLetterList(of: try route.folder(store).processes()) { directory, letter in
            if let reason, letter?.reason.contains(reason) != true { return }
            let route = directory.route ?? ""
            switch by {
            case .reason: groups.add(letter, of: route)
            case .event: groups.add(count: letter?.eventName ?? "(encrypted)", of: route, letter?.date)
            case .route: groups.add(count: route, of: route, letter?.date)
            case nil:
                lines.append((letter?.date.milliseconds ?? .min, json ? object(letter, route) : text(letter, route)))
            }
        }
        // A letter has its place in the file of its process, and there can be several processes.
        let order = lines.indices.sorted { (lines[$0].time, $0) < (lines[$1].time, $1) }
        for index in order { write(lines[index].text) }
        for group in groups.largestFirst { write(json ? object(group) : text(group)) }
        for problem in list.problems { Terminal.note("\(problem)") }
        if list.damaged > 0 { Terminal.note("\(Terminal.counted(list.damaged, "damaged line")): see sluice verify") }
        guard list.problems.isEmpty else { throw ExitCode.failure }
    }

    private func write(_ line: String) {
        if json { Terminal.writeJSON(line) } else { Terminal.write(line + "\n") }
    }

    private func text(_ letter: DeadLetterLine?, _ route: String) -> String {
        let isColored = Terminal.isColored
        return [
            Style.dim(letter?.date.description ?? "-", isColored: isColored),
            route == "main" ? "" : Style.dim("[\(Terminal.printable(route))]", isColored: isColored),
            Style.name(Terminal.printable(letter?.eventName ?? "(encrypted)"), isColored: isColored),
            Style.dim(letter?.event.id?.description ?? "-", isColored: isColored),
            Terminal.printable(letter?.reason ?? "-"),
            Style.dim(Terminal.printable(letter?.response ?? ""), isColored: isColored),
        ].filter { !$0.isEmpty }.joined(separator: " ")
    }

    private func text(_ group: DeadLetterGroups.Group) -> String {
        let route = group.key.route == "main" || by == .route ? "" : "[\(group.key.route)]"
        let words = [Terminal.grouped(group.count), route, group.key.reason, group.key.response ?? ""]
        return words.filter { !$0.isEmpty }.map(Terminal.printable).joined(separator: " ")
    }

    private func object(_ letter: DeadLetterLine?, _ route: String) -> String {
        var writer = JSONWriter()
        writer.object {
            $0["route"] = route
            $0["reason"] = letter?.reason
            $0["at"] = letter.map { .int($0.date.milliseconds) }
            $0["status"] = letter?.status.map { .int($0) }
            $0["response"] = letter?.response
            if let event = letter?.event { $0.raw("event", event.bytes) }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private func object(_ group: DeadLetterGroups.Group) -> String {
        var writer = JSONWriter()
        writer.object {
            $0["route"] = group.key.route
            if let by, by != .route { $0[by.rawValue] = group.key.reason }
            $0["response"] = group.key.response
            $0["count"] = PropertyValue.int(group.count)
            $0["newest"] = group.newest.map { .int($0.milliseconds) }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension DeadLetterLine {
    /// The event's name, or a text in parentheses if it can't be read.
    var eventName: String {
        do throws(SluiceError) {
            return try event.event().name
        } catch {
            return "(unreadable)"
        }
    }
}
