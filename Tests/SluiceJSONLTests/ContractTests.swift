import Sluice
import SluiceFiles
import SluiceJSONL
import SluiceTesting
import Testing

struct ContractTests {
    @Test(
        "JSONLStore keeps what every store promises, at each durability",
        arguments: [JSONLStore.Durability.buffered, .process, .interval(milliseconds: 5), .full])
    func contract(durability: JSONLStore.Durability) async throws {
        let directory = try TemporaryDirectory()
        let lives = Locked(0)
        func store(_ life: Int) -> JSONLStore {
            // Of what each event waits for at .full, the drive's part would take most of the time and show nothing.
            JSONLStore(at: "\(directory.path)/\(life)", durability: durability, files: FaultyFileSystem())
        }
        try await StoreContract.check(
            reopen: { store(lives.withLock { $0 }) },
            {
                store(
                    lives.withLock { life in
                        life += 1
                        return life
                    })
            })
    }
}
