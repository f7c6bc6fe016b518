import Sluice
import SluiceTesting
import Testing

@Suite struct ProcessorContractTests {
    struct Keep: Processor {
        func process(_ event: inout Event) -> Disposition { .keep }
    }

    struct DropAll: Processor {
        func process(_ event: inout Event) -> Disposition { .drop(.filtered) }
    }

    struct DropWithoutName: Processor {
        func process(_ event: inout Event) -> Disposition { .drop(DropReason(rawValue: "")) }
    }

    /// Makes one event out of each, under the same id.
    struct SameID: Processor {
        func process(_ event: inout Event) -> Disposition {
            event = Event(id: EventID(high: 0, low: 0), name: "Same", time: event.time)
            return .keep
        }
    }

    @Test("processors that keep or drop events pass the contract")
    func keepingAndDroppingProcessorsPass() async throws {
        try await ProcessorContract.check { Keep() }
        try await ProcessorContract.check { DropAll() }
    }

    @Test("a drop without a reason is found")
    func dropWithoutReasonIsFound() async throws {
        let error = await #expect(throws: SluiceError.self) { try await ProcessorContract.check { DropWithoutName() } }
        #expect(error?.code == .brokenContract)
    }

    @Test("an event that loses its id is found")
    func eventWithoutItsIDIsFound() async throws {
        let error = await #expect(throws: SluiceError.self) { try await ProcessorContract.check { SameID() } }
        #expect(error?.code == .brokenContract)
    }
}
