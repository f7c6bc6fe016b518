import ArgumentParser
import Sluice
import SluiceJSONL
import StoreFiles

/// The person whose events a command selects.
struct PersonOption: ParsableArguments {
    @Option(help: "The distinct id, anonymous id or login id of a person, as it is in the events.")
    var user: String

    func validate() throws {
        if user.isEmpty { throw ValidationError("--user needs the id of a person") }
    }
}

/// `sluice erase`
struct Erase: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Erases the waiting events and dead letters of a person.",
        discussion: """
            Leaves directories alone that running processes use, and names them: erase there with pipeline.erase(where:). Exits \
            with 1 if something is left.
            """)

    @OptionGroup var store: FolderArgument
    @OptionGroup var person: PersonOption

    func run() async throws {
        let user = person.user
        let report = try JSONLStore.erase(at: store.folder().path) { $0.belongs(to: user) }
        for problem in report.left { Terminal.note(Terminal.printable(problem)) }
        let letters = Terminal.counted(report.deadLetters, "dead letter")
        Terminal.write("erased \(Terminal.counted(report.events, "event")) and \(letters)\n")
        guard report.isComplete else { throw ExitCode.failure }
    }
}
