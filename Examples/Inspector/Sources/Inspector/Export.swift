import ArgumentParser
import Sluice
import SluiceJSONL
import StoreFiles

/// `sluice export`
struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints the waiting events and dead letters of a person, as lines of JSON.",
        discussion: "Reads the directories of running processes, too. Exits with 1 if a file can't be read.")

    @OptionGroup var store: FolderArgument
    @OptionGroup var person: PersonOption

    func run() async throws {
        let user = person.user
        let (events, left) = try JSONLStore.export(at: store.folder().path) { $0.belongs(to: user) }
        for line in events {
            let text = String(decoding: line.bytes, as: UTF8.self)
            Terminal.write((Terminal.isTerminal ? Terminal.printableJSON(text) : text) + "\n")
        }
        for problem in left { Terminal.note(Terminal.printable(problem)) }
        guard left.isEmpty else { throw ExitCode.failure }
    }
}
