import SluiceFilters
import TestSupport
import Testing

@Suite struct CriticalEventsTests {
    @Test("events are made critical by name, and critical ones stay critical")
    func criticalEventsByName() {
        let processor = CriticalEvents(named: ["Purchase"])
        #expect(processor.processed("Purchase")?.priority == .critical)
        #expect(processor.processed("Purchases")?.priority == .normal)
        var event = Event.named("Other")
        event.priority = .critical
        #expect(processor.process(&event) == .keep)
        #expect(event.priority == .critical)
    }
}
