import HTTPTestSupport
import Sluice
import SluiceHTTP
import SluiceMemory
import SluiceTesting
import Testing

/// Events for which a transport has a verdict of its own, beside good ones. `AnsweredEventTests` has the answers of gateways.
@Suite("Events with verdicts of their own")
struct RejectedEventTests {
    private let time = VirtualTime()

    /// A pipeline to a transport that judges each event by its name.
    private func pipeline(_ judge: @escaping @Sendable (String) -> Verdict) throws -> (Pipeline, ScriptedTransport) {
        let transport = ScriptedTransport { _, batch in
            do {
                return .answer(.each(try batch.events.map { judge(try $0.event().name) }))
            } catch {
                return .failure(SluiceError(.inputOutput, "unreadable event: \(error)"))
            }
        }
        let pipeline = try Pipeline(isDeliveryPaused: true, environment: PipelineEnvironment(time: time)) {
            MemoryStore()
            transport
        }
        return (pipeline, transport)
    }

    @Test("a throttled user never delays another", arguments: [1, 1_000])
    func throttledUserDelaysNobody(count: Int) async throws {
        let (pipeline, transport) = try pipeline { name in
            name == "throttled" ? .retry(after: .seconds(600), reason: "throttled") : .accepted
        }
        for _ in 0..<count { pipeline.track("throttled") }
        for _ in 0..<200 { pipeline.track("Event") }
        pipeline.resumeDelivery()
        // Each batch of throttled events pauses the route for up to a second.
        let pauses = (count + 49) / 50
        for _ in 0...pauses where pipeline.ledger.routes[0].delivered < 200 {
            await pipeline.flush()
            time.advance(by: .seconds(1))
        }
        #expect(pipeline.ledger.routes[0].delivered == 200)
        #expect(pipeline.ledger.routes[0].waiting == count)
        #expect(transport.batches.count <= pauses + 5)
        await pipeline.deleteWaitingEvents()
        #expect(await pipeline.shutdown().isBalanced)
    }

    /// NDJSON for a backend that limits events to 32 KiB.
    private struct SmallEventFormat: FormatWrapper {
        var base: HTTPFormat { .ndjson }
        var maximumEventBytes: Int { 32_768 }
    }

    @Test("events that can't be sent become dead letters without a request, also 50 in front of good ones")
    func unsendableEventsNeedNoRequest() async throws {
        let client = KeepingClient()
        let pipeline = try Pipeline(isDeliveryPaused: true, environment: PipelineEnvironment(time: time)) {
            MemoryStore()
            client.transport(HTTPFormat(SmallEventFormat()))
        }
        let large = PropertyValue.string(String(repeating: "x", count: 60_000))
        for _ in 0..<50 { pipeline.track("Large", ["pad": large]) }
        pipeline.resumeDelivery()
        await pipeline.flush()
        #expect(client.requests.isEmpty)
        #expect(pipeline.ledger.routes[0].deadLetters == 50)
        #expect(pipeline.ledger.routes[0].attempts.failed == 0)
        await pipeline.shutdown()
    }

    @Test("dead letters can be listed, replayed and discarded")
    func deadLettersCanBeManaged() async throws {
        let (pipeline, _) = try pipeline { $0 == "poison" ? .rejected(reason: "poison") : .accepted }
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
