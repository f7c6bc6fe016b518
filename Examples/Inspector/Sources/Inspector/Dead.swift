import ArgumentParser
import Sluice
import StoreFiles

/// `sluice dead`
struct Dead: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists dead letters: date, event, id, reason and the receiver's words.")

    @OptionGroup var store: FolderArgument

    @Option(help: "List only the dead letters whose reason contains this text.")
    var reason: String?

    func run() async throws {
        let isColored = Terminal.isColored
        let list = DeadLetterList(of: try store.folder().processes()) { _, letter in
            if let reason, letter?.reason.contains(reason) != true { return }
            let parts = [
                Style.dim(letter?.date.description ?? "-", isColored: isColored),
                Style.name(Terminal.printable(letter?.eventName ?? "(encrypted)"), isColored: isColored),
                Style.dim(letter?.event.id?.description ?? "-", isColored: isColored),
                Terminal.printable(letter?.reason ?? "-"),
                Style.dim(Terminal.printable(letter?.response ?? ""), isColored: isColored),
            ].filter { !$0.isEmpty }
            Terminal.write(parts.joined(separator: " ") + "\n")
        }
        for problem in list.problems { Terminal.note("\(problem)") }
        if list.damaged > 0 { Terminal.note("\(Terminal.counted(list.damaged, "damaged line")): see sluice verify") }
        guard list.problems.isEmpty else { throw ExitCode.failure }
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
