import SluiceFilters
import TestSupport
import Testing

@Suite("Sampling: a share of the users or events")
struct SamplingTests {
    private func passes(_ id: String?, _ rate: Double, byEvent: Bool = false) -> Bool {
        var event = Event.named()
        event.distinctID = id
        return (byEvent ? Sampling(eventRate: rate) : Sampling(rate: rate)).process(&event) == .keep
    }

    // Computed elsewhere: FNV-1a with 64 bits over the UTF-8, then SplitMix64's finalizer, then the top 53 bits.
    @Test(
        "the hash never changes",
        arguments: [
            ("a", 0.010753497314070604), ("customer-42", 0.875649576901015), ("名前", 0.1945461875259531),
        ])
    func hashIsStable(id: String, fraction: Double) {
        #expect(!passes(id, fraction))
        #expect(passes(id, fraction.nextUp))
    }

    @Test("the hash of an event's id is that of its 16 bytes")
    func eventIDHashIsStable() {
        let id = EventID(high: 0x018f_3c2a_7b1c_7abc, low: 0x8def_0123_4567_89ab)
        var event = Event(id: id, name: "Event", time: Timestamp(milliseconds: 0), distinctID: "a")
        #expect(Sampling(eventRate: 0.2043851412904062).process(&event) == .drop(.sampledOut))
        #expect(Sampling(eventRate: (0.2043851412904062).nextUp).process(&event) == .keep)
    }

    @Test("about the given share passes, and a user in a small sample is in a larger one", arguments: [0.01, 0.1, 0.5])
    func samplesAreNested(rate: Double) {
        let ids = (0..<20_000).map { "user \($0)" }
        let sample = ids.filter { passes($0, rate) }
        // Five standard deviations.
        let tolerance = 5 * (20_000 * rate * (1 - rate)).squareRoot()
        #expect(abs(Double(sample.count) - 20_000 * rate) < tolerance)
        #expect(sample.allSatisfy { passes($0, rate * 1.5) })
    }

    @Test("a rate of 0 lets no event pass, and a rate of 1 all")
    func extremeRatesPassNoneOrAll() {
        for number in 0..<1_000 {
            #expect(!passes("\(number)", 0))
            #expect(passes("\(number)", 1))
        }
    }

    @Test("either all events of a user pass or all are dropped; sampling by event differs")
    func usersPassAsAWhole() {
        #expect((0..<100).allSatisfy { _ in passes("a", 0.5) })
        let byEvent = (0..<100).filter { _ in passes("a", 0.5, byEvent: true) }
        #expect((1..<100).contains(byEvent.count))
    }

    @Test("an event without a distinct id is sampled by its own")
    func eventsWithoutIDAreSampledByOwnID() {
        let passing = (0..<100).filter { _ in passes(nil, 0.5) }
        #expect((1..<100).contains(passing.count))
    }

    @Test("events outside the sample are counted")
    func droppedEventsAreCounted() async throws {
        let test = try TestPipeline { Sampling(rate: 0.5) }
        test.pipeline.track("Event") { $0.distinctID = "a" }
        test.pipeline.track("Event") { $0.distinctID = "customer-42" }
        #expect(try await test.event().distinctID == "a")
        #expect(test.pipeline.ledger.dropped == [.sampledOut: 1])
    }
}
