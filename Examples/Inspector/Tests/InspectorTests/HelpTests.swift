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

    private func message(_ arguments: [String]) throws -> String {
        SluiceCommand.message(for: try #require(throws: (any Error).self) { try SluiceCommand.parseAsRoot(arguments) })
    }

    @Test(
        "A negative number gets a sentence about its range",
        arguments: [
            (["serve", "x", "--port", "-5"], "--port must be 0 to 65535"),
            (["collect", "--port", "-5"], "--port must be 0 to 65535"),
            (["collect", "--delay", "-3"], "--delay must be 0 to 3600 seconds"),
            (["collect", "--answer", "-1"], "--answer must be a status from 200 to 599, or nothing: it is -1"),
            (["stats", "x", "--capacity", "-1"], "--capacity must be more than 0"),
        ])
    func explainsNegativeNumber(arguments: [String], expected: String) throws {
        #expect(try message(arguments) == expected)
    }

    @Test(
        "An unknown format is repeated without its argument, which can be a key",
        arguments: [("ndjsn", "ndjsn"), ("segmnt:secret", "segmnt:…"), ("kafka:", "kafka:"), ("", "")])
    func repeatsFormat(format: String, shown: String) throws {
        for command in ["replay", "serve"] {
            let message = try message([command, "x", "--to", "http://127.0.0.1/", "--format", format])
            #expect(message.hasPrefix("unknown format \"\(shown)\": One of ndjson, "))
        }
    }
}
