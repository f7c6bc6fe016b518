import ArgumentParser
import Sluice
import SluiceJSONL
import StoreFiles

/// `sluice erase`
struct Erase: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "Erases a person's events: waiting ones and dead letters of a store, or those in the files of a lake.",
        discussion: """
            Leaves directories of a store alone that running processes use, and names them: erase there with \
            pipeline.erase(where:). In a lake, the files that have the events are replaced, also while other processes add files. \
            Exits with 1 if something is left.

            EXAMPLES
              sluice erase events --user ada@example.org
              sluice erase /var/lake/events --user ada@example.org
            """)

    @OptionGroup var store: FolderArgument

    @Option(help: "The distinct id, anonymous id or login id of a person, as it is in the events.")
    var user: String

    func run() async throws {
        let user = user
        if let lake = try store.lake() {
            var eraser = LakeEraser(lake) { $0.belongs(to: user) }
            try eraser.run()
            let files = Terminal.counted(eraser.files, "file")
            return try end("erased \(Terminal.counted(eraser.events, "event")) in \(files)", left: eraser.left)
        }
        let folder = try store.folder()
        try folder.requireStore()
        let report = try JSONLStore.erase(at: folder.path) { $0.belongs(to: user) }
        let letters = Terminal.counted(report.deadLetters, "dead letter")
        try end("erased \(Terminal.counted(report.events, "event")) and \(letters)", left: report.left)
    }

    private func end(_ text: String, left: [String]) throws {
        for problem in left { Terminal.note(Terminal.printable(problem)) }
        Terminal.write(text + "\n")
        guard left.isEmpty else { throw ExitCode.failure }
    }
}
