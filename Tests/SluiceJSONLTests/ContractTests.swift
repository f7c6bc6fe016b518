import Sluice
import SluiceJSONL
import SluiceTesting
import TestSupport
import Testing

struct ContractTests {
    @Test(
        "JSONLStore keeps the contract of stores, at each durability",
        arguments: [JSONLStore.Durability.buffered, .process, .interval(milliseconds: 5), .full])
    func keepsStoreContract(durability: JSONLStore.Durability) async throws {
        let directory = TemporaryDirectory()
        let lastStore = Locked(0)
        func store(_ number: Int) -> JSONLStore {
            // Without the drive: at .full, waiting for it would take most of the time and show nothing.
            JSONLStore(at: "\(directory.path)/\(number)", durability: durability, files: FaultyFileSystem())
        }
        try await StoreContract.check(
            reopen: { store(lastStore.withLock { $0 }) },
            {
                store(
                    lastStore.withLock { number in
                        number += 1
                        return number
                    })
            })
    }
}
