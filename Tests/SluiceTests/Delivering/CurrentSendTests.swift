import Sluice
import SluiceMemory
import Testing

@testable import SluiceDelivery

/// `CurrentSend`, read in the `send` of a transport.
@Suite struct CurrentSendTests {
    /// Records whether `CurrentSend` names this transport.
    private final class Object: Transport {
        let found = Locked<[Bool]>([])

        func send(_ batch: Batch) -> Verdicts {
            let isFound = CurrentSend.transport === self
            found.withLock { $0.append(isFound) }
            return .all(.accepted)
        }
    }

    private struct Gate<Base: Transport>: TransportGate {
        let base: Base
        func send(_ batch: Batch) async throws -> Verdicts { try await base.send(batch) }
    }

    /// Not a gate: it may do something else in the same thread.
    private struct Wrapper<Base: Transport>: Transport {
        let base: Base
        func send(_ batch: Batch) async throws -> Verdicts { try await base.send(batch) }
    }

    private func isFound(_ object: Object, in transport: some Transport) async throws -> [Bool] {
        let pipeline = try Pipeline {
            MemoryStore()
            transport
        }
        pipeline.track("E")
        await pipeline.shutdown(timeout: .seconds(600))
        return object.found.withLock(\.self)
    }

    @Test("an object may block its worker's thread, also behind gates, but not in another transport")
    func objectIsFoundBehindGates() async throws {
        let objects = (0..<5).map { _ in Object() }
        #expect(try await isFound(objects[0], in: objects[0]) == [true])
        #expect(try await isFound(objects[1], in: Gate(base: objects[1])) == [true])
        #expect(try await isFound(objects[2], in: Gate(base: Gate(base: objects[2]))) == [true])
        #expect(try await isFound(objects[3], in: Wrapper(base: objects[3])) == [false])
        #expect(try await isFound(objects[4], in: Gate(base: Wrapper(base: objects[4]))) == [false])
        _ = Object().send(Batch(id: 1, events: []))
        #expect(CurrentSend.transport == nil, "outside of a route")
    }
}
