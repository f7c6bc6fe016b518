import ArgumentParser
import Sluice
import StoreFiles

/// `sluice tail`
struct Tail: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Follows events as they are appended.",
        discussion: "A segment that is delivered within 100 ms of its first event can be missed.")

    @OptionGroup var store: FolderArgument

    @Option(help: "Print only the events with this name.")
    var filter: String?

    @Flag(help: "Print each event as its line of JSON.")
    var json = false

    func run() async throws {
        let printer = EventPrinter(filter: filter, isJSON: json, isColored: Terminal.isColored)
        var follower = StoreFollower(try store.folder(), countsAll: false)
        try follower.poll { _ in }
        var damaged = follower.damaged
        while true {
            try await Task.sleep(for: .milliseconds(100))
            var text = ""
            try follower.poll { event in
                text += printer.text(of: event)
                if text.utf8.count > 65_536 {
                    Terminal.write(text)
                    text = ""
                }
            }
            if !text.isEmpty { Terminal.write(text) }
            if follower.damaged > damaged {
                Terminal.note("\(follower.damaged - damaged) damaged lines: see sluice verify")
                damaged = follower.damaged
            }
        }
    }
}

/// Prints one event as a line.
struct EventPrinter {
    let filter: String?
    let isJSON: Bool
    let isColored: Bool

    /// The longest text of a value.
    private static let longestValue = 200

    /// Returns the line with its newline. Empty if the filter excludes the event.
    func text(of appended: AppendedEvent) -> String {
        guard let line = appended.line else { return filter == nil ? "(encrypted)\n" : "" }
        let event: Event
        do throws(SluiceError) {
            event = try line.event()
        } catch {
            // A version of the host that this program doesn't know.
            return filter == nil ? Terminal.printable(String(decoding: line.bytes, as: UTF8.self)) + "\n" : ""
        }
        if let filter, event.name != filter { return "" }
        return (isJSON ? String(decoding: line.bytes, as: UTF8.self) : readable(event)) + "\n"
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
        var text = String(decoding: writer.bytes.prefix(EventPrinter.longestValue * 4), as: UTF8.self)
        if case .date(let date) = value { text = date.description }
        if text.count > EventPrinter.longestValue { text = text.prefix(EventPrinter.longestValue) + "…" }
        return Style.dim(Terminal.printable(name) + "=", isColored: isColored) + Terminal.printable(text)
    }
}
