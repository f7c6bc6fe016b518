import SluiceMemory
import SluiceTesting
import Testing

@Suite struct FaultyStoreTests {
    @Test("it records the events that it stored, not those that it refused, and the rejected ones")
    func recordsStoredEventsOnly() async throws {
        let store = FaultyStore(MemoryStore()) { operation, number in
            operation == .append && number == 1 ? SluiceError(.storageFull, "full") : nil
        }
        let pipeline = try Pipeline(environment: .virtual(VirtualTime())) {
            store
            ScriptedTransport([.answer(.each([.accepted, .rejected(reason: "bad")]))])
        }
        for name in ["First", "Second", "Third"] { pipeline.track(name) }
        await pipeline.flush()
        #expect(try store.stored().map(\.name) == ["First", "Third"])
        #expect(store.count(of: .append) == 3)
        #expect(store.rejected.map { $0.map(\.reason) } == [["bad"]])
        #expect(pipeline.ledger.routes[0].dropped == [.storeFull: 1])
    }
}
