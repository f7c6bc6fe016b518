import Sluice
import SluiceMemory
import SluiceTesting
import Testing

/// Events that a transport rejects by name, beside good ones. `AnsweredEventTests` has the answers of gateways.
@Suite("Events with verdicts of their own")
struct RejectedEventTests {
    @Test("dead letters can be listed, replayed and discarded")
    func deadLettersCanBeManaged() async throws {
        let time = VirtualTime()
        let pipeline = try Pipeline(isDeliveryPaused: true, environment: PipelineEnvironment(time: time)) {
            MemoryStore()
            ScriptedTransport { _, batch in
                do {
                    let names = try batch.events.map { try $0.event().name }
                    return .answer(.each(names.map { $0 == "poison" ? .rejected(reason: "poison") : .accepted }))
                } catch {
                    return .failure(SluiceError(.inputOutput, "unreadable event: \(error)"))
                }
            }
        }
        for name in ["poison", "Event", "poison"] { pipeline.track(name) }
        pipeline.resumeDelivery()
        await pipeline.flush()
        let letters = try await pipeline.deadLetters()
        #expect(try letters.map { try $0.event().name } == ["poison", "poison"])
        #expect(letters.map(\.reason) == ["poison", "poison"])
        #expect(letters.map(\.date) == [time.wallTime(), time.wallTime()])
        pipeline.pauseDelivery()
        #expect(try await pipeline.replayDeadLetters(where: { $0.id == letters[0].id }) == 1)
        #expect(pipeline.ledger.routes[0].waiting == 1)
        // Named alone, it would only be set aside.
        pipeline.track("Event")
        pipeline.resumeDelivery()
        await pipeline.flush()
        #expect(try await pipeline.deadLetters().count == 2)
        #expect(try await pipeline.discardDeadLetters { _ in true } == 2)
        #expect(try await pipeline.deadLetters(route: "main").isEmpty)
        await #expect(throws: SluiceError.self) { try await pipeline.deadLetters(route: "none") }
        let route = pipeline.ledger.routes[0]
        #expect(
            (route.rejected, route.replayed, route.deadLetters, route.droppedDeadLetters) == (3, 1, 0, [.deleted: 2]))
        #expect(await pipeline.shutdown().isBalanced)
        await #expect(throws: SluiceError.self) { try await pipeline.deadLetters() }
    }
}
