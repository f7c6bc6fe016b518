import ArgumentParser
import Sluice
import StoreFiles

/// `sluice collect`
struct Collect: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Receives events on this machine, prints them, keeps them as files, and shows them in a browser.",
        discussion: """
            A receiver for development. It takes lines of JSON (the format .ndjson), arrays (.jsonArray), and the bodies of \
            .segment, .rudderStack and .postHog, on any path. Events are kept in DIR/date=YYYY-MM-DD/….ndjson by their day in UTC.

            EXAMPLES
              sluice collect
              sluice collect --refuse sku=A-3    # 400 for this property: dead letters
              sluice collect --answer 503        # a receiver that is down: retries, pauses
              sluice collect --delay 40          # slower than the host waits
              duckdb -c "SELECT event, count(*) FROM 'collected/*/*.ndjson' GROUP BY event"
            """)

    @Argument(help: "The folder for the events. It is created if necessary.", completion: .directory)
    var directory = "collected"

    @Option(parsing: .unconditional, help: "The port. 0 takes any free one.")
    var port = 4577

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Answer each request with this status, or with \"nothing\".", valueName: "status"))
    var answer = "200"

    @Option(
        help: ArgumentHelp(
            "Answer 400 if an event has this property, or a value that contains this text. You can repeat the option.",
            valueName: "name=value"))
    var refuse: [String] = []

    @Option(parsing: .unconditional, help: ArgumentHelp("The time until each answer.", valueName: "seconds"))
    var delay = 0.0

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port must be 0 to 65535") }
        guard answer == "nothing" || (Int(answer).map { (200...599).contains($0) } ?? false) else {
            throw ValidationError("--answer must be a status from 200 to 599, or nothing: it is \(answer)")
        }
        guard (0...3_600).contains(delay) else { throw ValidationError("--delay must be 0 to 3600 seconds") }
    }

    func run() async throws {
        let files = try CollectedFiles(at: directory)
        guard let folder = try folder() else {
            throw NotAStore("\(directory) is no folder of collected events: pass a new or an empty one")
        }
        let answers = Receiver.Answers(
            status: answer == "nothing" ? nil : Int(answer), refused: refuse, delay: .seconds(delay))
        let receiver = Receiver(files, answers, isColored: Terminal.isColored) { Terminal.write($0) }
        let rules = AccessRules.random()
        let server = InspectorServer(folder: folder, destination: nil, port: port, rules: rules, receiver: receiver)
        try await server.run { port in
            Terminal.write(
                """
                Send events to http://127.0.0.1:\(port)/events, for example with
                    HTTPTransport(to: "http://127.0.0.1:\(port)/events", format: .ndjson)
                See them at http://127.0.0.1:\(port)/?token=\(rules.token)
                They are kept in \(Terminal.printable(directory)).


                """)
        }
    }

    /// Nil if it is the folder of a store, or has other files.
    private func folder() throws -> StoreFolder? {
        do {
            let folder = try StoreFolder(directory)
            return try folder.routes().isEmpty ? folder : nil
        } catch is NotAStore { return nil }
    }
}
