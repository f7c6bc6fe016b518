import ArgumentParser
import StoreFiles

/// `sluice serve`
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows the folder as a live page in a browser.",
        discussion: """
            The page is served on 127.0.0.1 only, and needs the token in the printed URL. It can replay dead letters if you \
            pass --to and --format.

            EXAMPLES
              sluice serve events
              sluice serve collected             # events that sluice collect has kept
              sluice serve events --to https://collector.example/events --format ndjson
            """)

    @OptionGroup var store: FolderArgument

    @Option(parsing: .unconditional, help: "The port. 0 takes any free one.")
    var port = 4577

    @Option(help: "The URL of the backend for replays.")
    var to: String?

    @Option(help: ArgumentHelp("\(Destination.formatHelp)", valueName: "name"))
    var format: String?

    @OptionGroup var secrets: Secrets

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port must be 0 to 65535") }
        guard (to == nil) == (format == nil) else { throw ValidationError("--to and --format belong together") }
        guard to != nil || secrets.isEmpty else {
            throw ValidationError("--header, --header-file and --key-file are for --to and --format: pass these, too")
        }
        _ = try destination()
    }

    private func destination() throws -> Destination? {
        guard let to, let format else { return nil }
        return try Destination(url: to, format: format, key: secrets.key(), headers: secrets.headers())
    }

    func run() async throws {
        let rules = AccessRules.random()
        let server = InspectorServer(
            folder: try store.folder(), destination: try destination(), port: port, rules: rules)
        try await server.run { Terminal.write("http://127.0.0.1:\($0)/?token=\(rules.token)\n") }
    }
}
