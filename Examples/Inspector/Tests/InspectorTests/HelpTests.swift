import ArgumentParser
import Testing

@testable import Inspector

@Suite("Help and errors of arguments")
struct HelpTests {
    /// The command and all of its subcommands.
    private func commands(_ command: any ParsableCommand.Type = SluiceCommand.self) -> [any ParsableCommand.Type] {
        [command] + command.configuration.subcommands.flatMap { commands($0) }
    }

    @Test("The help of each command has examples, and none of them is broken over lines of 80 columns")
    func showsExamples() {
        for command in commands() {
            let examples = command.configuration.discussion.split(separator: "\n").drop { $0 != "EXAMPLES" }
            #expect(examples.count > 1, "\(command)")
            let help = SluiceCommand.helpMessage(for: command, columns: 80).split(separator: "\n")
            for example in examples { #expect(help.contains(example), "\(command)") }
        }
    }
}
