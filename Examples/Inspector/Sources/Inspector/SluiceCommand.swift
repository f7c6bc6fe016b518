import ArgumentParser
import StoreFiles

/// The command `sluice`.
@main
struct SluiceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sluice",
        abstract: "Looks into the folder of a JSONLStore, and at tracking plans.",
        discussion: "Only replay and erase, and the page of serve if you ask it to, change the folder.",
        subcommands: [
            Tail.self, Stats.self, Verify.self, Dead.self, Replay.self, Erase.self, Export.self, Serve.self, Plan.self,
        ])
}

/// The argument of all commands.
struct FolderArgument: ParsableArguments {
    @Argument(help: "The folder that the host passes to JSONLStore(at:).", completion: .directory)
    var directory: String

    func folder() throws -> StoreFolder { try StoreFolder(directory) }
}
