import SluiceMemory
import SluiceTesting
import Testing

/// Two targets have this file: one whose code belongs to the main actor by default, as in new apps, and one in Swift 5 mode.
@Suite struct CallerContractTests {
    @Test("The contracts can be checked from code of any isolation and language mode")
    func contracts() async throws {
        var made: [String] = []
        try await ProcessorContract.check {
            made.append("processor")
            return Passing()
        }
        try await StoreContract.check {
            made.append("store")
            return MemoryStore()
        }
        try await TransportContract.check {
            made.append("transport")
            return Accepting()
        }
        #expect(Set(made) == ["processor", "store", "transport"])
    }
}

nonisolated struct Passing: Processor {
    func process(_ event: inout Event) -> Disposition { .keep }
}

nonisolated struct Accepting: Transport {
    func send(_ batch: Batch) async throws -> Verdicts { .all(.accepted) }
}
