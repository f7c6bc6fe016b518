import ArgumentParser
import StoreFiles

/// `sluice verify`
struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Compares every line with its checksum.",
        discussion: """
            Exits with 1 if a line is damaged or a file can't be read.

            EXAMPLES
              sluice verify events || echo "a line is damaged"
            """)

    @OptionGroup var store: FolderArgument

    func run() async throws {
        let result = try Verification(of: store.folder()) {
            // A file can have any name.
            Terminal.write(Terminal.printable("\($0)") + "\n")
        }
        for problem in result.problems { Terminal.note("\(problem)") }
        let counts = [(result.files, "file"), (result.lines, "good line"), (result.damaged, "damaged line")]
        Terminal.write(counts.map { Terminal.counted($0, $1) }.joined(separator: ", ") + "\n")
        guard result.isClean else { throw ExitCode.failure }
    }
}
