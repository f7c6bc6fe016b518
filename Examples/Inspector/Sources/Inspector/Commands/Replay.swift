import ArgumentParser
import Sluice
import StoreFiles

/// `sluice replay`
struct Replay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Sends the events of a folder to a backend, and removes those that arrived.",
        discussion: """
            Sends waiting events and dead letters, with the retries, splits and dead letters of Sluice's delivery. Refuses \
            a folder that a running process uses. Exits with 1 if events of the route remain or are lost.

            EXAMPLES
              sluice replay events --to https://collector.example/events --format ndjson
              sluice replay events --to https://a.example --format amplitude --key-file key
              sluice replay events --to https://a.example --format json --reason "HTTP 400"
            """)

    @OptionGroup var store: FolderArgument

    @Option(help: "The URL of the backend.")
    var to: String

    @Option(help: ArgumentHelp("\(Destination.formatHelp)", valueName: "name"))
    var format: String

    @OptionGroup var secrets: Secrets

    @Option(help: "The route whose events are sent. Events of other routes remain.")
    var route = "main"

    @Flag(help: "Send dead letters only, and leave the waiting events alone.")
    var deadLetters = false

    @Option(help: "Send only the dead letters whose reason contains this text. Includes --dead-letters.")
    var reason: String?

    func validate() throws {
        _ = try destination()
    }

    private func destination() throws -> Destination {
        try Destination(url: to, format: format, key: secrets.key(), headers: secrets.headers())
    }

    func run() async throws {
        let replayer = Replayer(folder: try store.folder().only(route), destination: try destination(), route: route) {
            Terminal.note($0)
        }
        let result: Replayer.Result
        if deadLetters || reason != nil {
            let reason = reason
            result = try await replayer.replayDeadLetters { letter in
                reason.map { letter.reason.contains($0) } ?? true
            }
        } else {
            result = try await replayer.replayAll()
        }
        Terminal.note(result.description)
        guard result.isComplete else { throw ExitCode.failure }
    }
}
