import ArgumentParser
import StoreFiles

/// The command `sluice`.
@main
struct SluiceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sluice",
        abstract: "Receives events while you develop, looks into the folder of a JSONLStore, and at tracking plans.",
        discussion: """
            Only replay and erase, and the page of serve if you ask it to, change the folder of a store. Only erase changes files \
            of a lake.

            EXAMPLES
              sluice collect                     # a receiver on this machine, with a page
              sluice serve events                # the page for a store's folder
              sluice stats events --json | jq .routes
              sluice dead events --by reason
              sluice query "SELECT event, count(*) FROM events GROUP BY event" lake
              sluice replay events --to https://collector.example/events --format ndjson
            """,
        version: "unreleased",
        subcommands: [
            Collect.self, Serve.self, Tail.self, Stats.self, Dead.self, Replay.self, Query.self, Export.self,
            Erase.self,
            Verify.self, Plan.self,
        ])

    static func main() async {
        do { try check(CommandLine.arguments.prefix { $0 != "--" }) } catch { exit(withError: error) }
        await main(nil)
    }

    /// Refuses what the parser takes without a word: an empty text, which selects all, and all but the last value of an option.
    private static func check(_ arguments: some Sequence<String>) throws {
        var given: Set<Substring> = []
        for argument in arguments {
            let option = argument.hasPrefix("--") ? argument.prefix { $0 != "=" } : ""
            if argument == option + (option.isEmpty ? "" : "=") {
                throw ValidationError("an argument is empty: pass a value, or leave it out")
            }
            if !["", "--header", "--refuse"].contains(option), !given.insert(option).inserted {
                throw ValidationError("\(option) is given twice: pass it once")
            }
        }
    }
}

/// The folder of a command.
struct FolderArgument: ParsableArguments {
    @Argument(
        help: "The folder that the host passes to JSONLStore(at:), or the one of sluice collect.",
        completion: .directory)
    var directory: String

    func folder() throws -> StoreFolder { try StoreFolder(directory) }

    /// The folder as a lake, or one of `sluice collect`; nil if it is the folder of a store.
    func lake() throws -> LakeFolder? {
        do throws(FileProblem) {
            return try LakeFolder(directory)
        } catch {
            // With advice.
            _ = try folder()
            throw error
        }
    }
}

/// The route of a command that reads all of them by default.
struct RouteOption: ParsableArguments {
    @Option(help: ArgumentHelp("Only the events of this route.", valueName: "name"))
    var route: String?

    func folder(_ store: FolderArgument) throws -> StoreFolder {
        let folder = try store.folder()
        return try route.map { try folder.only($0) } ?? folder
    }
}
