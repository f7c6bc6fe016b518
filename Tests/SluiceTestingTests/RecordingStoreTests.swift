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
}
