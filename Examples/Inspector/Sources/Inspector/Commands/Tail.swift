import ArgumentParser
import Sluice
import StoreFiles

/// `sluice tail`
struct Tail: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Follows events as they are appended.",
        discussion: """
            An event of several routes is printed once. A segment that the host removes within 100 ms of its first event can be \
            missed.

            EXAMPLES
              sluice tail events --filter Purchase
              sluice tail events --route vendor --json | jq .properties
            """)

    @OptionGroup var store: FolderArgument
    @OptionGroup var route: RouteOption

    @Option(help: "Print only the events with this name.")
    var filter: String?

    @Flag(help: "Print each event as its line of JSON.")
    var json = false

    func run() async throws {
        let printer = EventPrinter(
            filter: filter, isJSON: json, isColored: Terminal.isColored, isTerminal: Terminal.isTerminal)
        var follower = StoreFollower(try route.folder(store), countsAll: false)
        var notes = TailNotes()
        var printed = RecentIDs()
        for note in notes.look(&follower, { _ in }) { Terminal.note(note) }
        while true {
            try await Task.sleep(for: .milliseconds(100))
            var text = ""
            var hidden = 0
            let news = notes.look(&follower) { event in
                if json, event.line == nil { hidden += 1 }
                // Each route of a host stores the event.
                if let id = event.line?.id, !printed.insert(id) { return }
                text += printer.text(of: event)
                if text.utf8.count > 65_536 {
                    Terminal.write(text)
                    text = ""
                }
            }
            if !text.isEmpty { Terminal.write(text) }
            for note in news { Terminal.note(note) }
            if hidden > 0 {
                Terminal.note("not shown: \(Terminal.counted(hidden, "encrypted event")), which only the host can read")
            }
        }
    }
}

/// Polls for `tail`, and reports each problem once.
struct TailNotes {
    private var problems: Set<FileProblem> = []
    /// Nil before the first poll, which reads the lines that are already there.
    private var damaged: Int?

    /// Returns messages about problems that are new since the previous poll, and about new damage.
    mutating func look(_ follower: inout StoreFollower, _ onEvent: (AppendedEvent) -> Void) -> [String] {
        let before = problems
        do throws(FileProblem) {
            try follower.poll(onEvent)
            problems = follower.problems
        } catch {
            // The host may create the folder again.
            problems = [error]
        }
        var notes = problems.subtracting(before).map(\.description).sorted()
        if let damaged, follower.damaged > damaged {
            notes.append("\(Terminal.counted(follower.damaged - damaged, "damaged line")): see sluice verify")
        }
        damaged = follower.damaged
        return notes
    }
}

/// Prints one event as a line.
struct EventPrinter {
    let filter: String?
    let isJSON: Bool
    let isColored: Bool
    var isTerminal = false

    /// The longest text of a value.
    private static let longestValue = 200

    /// Returns the line with its newline, or an empty string if the filter excludes the event, or if it is encrypted and the
    /// output is JSON.
    func text(of appended: AppendedEvent) -> String {
        guard let line = appended.line else { return filter == nil && !isJSON ? "(encrypted)\n" : "" }
        let event: Event
        do throws(SluiceError) {
            event = try line.event()
        } catch {
            // A version of the host that this program doesn't know.
            if filter != nil { return "" }
            return (isJSON ? json(line) : Terminal.printable(String(decoding: line.bytes, as: UTF8.self))) + "\n"
        }
        if let filter, event.name != filter { return "" }
        return (isJSON ? json(line) : readable(event)) + "\n"
    }

    private func json(_ line: EventLine) -> String {
        let text = String(decoding: line.bytes, as: UTF8.self)
        return isTerminal ? Terminal.printableJSON(text) : text
    }

    private func readable(_ event: Event) -> String {
        var parts = [Style.dim(event.time.description, isColored: isColored)]
        if event.priority == .critical { parts.append(Style.critical("critical", isColored: isColored)) }
        parts.append(Style.name(Terminal.printable(event.name), isColored: isColored))
        let ids = [
            ("distinct_id", event.distinctID), ("anonymous_id", event.anonymousID), ("login_id", event.loginID),
        ]
        for case (let name, let id?) in ids { parts.append(pair(name, .string(id))) }
        parts += event.properties.map { pair($0.name, $0.value) }
        return parts.joined(separator: " ")
    }

    private func pair(_ name: String, _ value: PropertyValue) -> String {
        var writer = JSONWriter()
        writer.value(value)
        var text = String(decoding: writer.bytes, as: UTF8.self)
        if case .date(let date) = value { text = date.description }
        text = Terminal.beginning(of: text, characters: EventPrinter.longestValue)
        return Style.dim(Terminal.printable(name) + "=", isColored: isColored) + Terminal.printable(text)
    }
}
