import SluiceTesting
import Testing

@Suite struct RecordingStoreTests {
    @Test("events are there when track returns, and stay after their delivery")
    func eventsStay() async throws {
        let store = RecordingStore()
        let transport = ScriptedTransport()
        let pipeline = try Pipeline {
            store
            transport
        }
        for number in 0..<3 { pipeline.track(number == 1 ? "Other" : "E", ["number": number]) }
        #expect(store.events.map { $0.properties["number"]?.int } == [0, 1, 2])
        let ledger = await pipeline.shutdown(timeout: .seconds(600))
        #expect(ledger.routes[0].delivered == 3 && ledger.isBalanced)
        #expect(store.events(named: "E").count == 2 && store.events.count == 3)
        #expect(try transport.accepted() == store.events)
    }

    @Test("it records the events that it stored, not those that it refused, and the rejected ones")
    func recordsStoredEventsOnly() async throws {
        let store = RecordingStore { operation, number in
            operation == .append && number == 1 ? SluiceError(.storageFull, "full") : nil
        }
        let pipeline = try Pipeline(environment: .virtual(VirtualTime())) {
            store
            ScriptedTransport([.answer(.each([.accepted, .rejected(reason: "bad")]))])
        }
        for name in ["First", "Second", "Third"] { pipeline.track(name) }
        await pipeline.flush()
        #expect(store.events.map(\.name) == ["First", "Third"])
        #expect(store.count(of: .append) == 3)
        #expect(store.rejected.map { $0.map(\.reason) } == [["bad"]])
        #expect(pipeline.ledger.routes[0].dropped == [.storeFull: 1])
    }
}
