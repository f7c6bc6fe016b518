import SluiceTesting
import Testing

@Suite struct ScriptedTransportTests {
    private func batch(_ id: UInt64, events: Int = 2) throws -> Batch {
        Batch(
            id: id,
            events: try (0..<events).map { number in
                try EventLine(
                    Event(
                        id: EventID(high: id, low: UInt64(number)), name: "\(id).\(number)",
                        time: Timestamp(milliseconds: 0), properties: [:]))
            })
    }

    @Test("the steps are the results of the first sends, and the last one of all others")
    func scriptIsFollowed() async throws {
        let failure = SluiceError(.storageUnavailable, "no")
        let transport = ScriptedTransport([.failure(failure), .answer(.each([.accepted, .duplicate]))])
        await #expect(throws: SluiceError.self) { try await transport.send(try batch(1)) }
        #expect(try await transport.send(try batch(2)) == .each([.accepted, .duplicate]))
        for id in UInt64(3)...4 { #expect(try await transport.send(try batch(id)) == .all(.accepted)) }
        #expect(transport.batches.map(\.id) == [1, 2, 3, 4])
        #expect(try transport.accepted().map(\.name) == ["2.0", "3.0", "3.1", "4.0", "4.1"])
    }

    @Test("a send that hangs returns the verdicts of its release")
    func releaseEndsHang() async throws {
        let transport = ScriptedTransport([.hang])
        async let verdicts = transport.send(try batch(1))
        await transport.waitForSends(1)
        #expect(try transport.accepted().isEmpty)
        transport.release(.all(.accepted))
        #expect(try await verdicts == .all(.accepted))
        #expect(try transport.accepted().map(\.name) == ["1.0", "1.1"])
    }

    @Test("a send that hangs ends when its task is cancelled")
    func cancellationEndsHang() async throws {
        let transport = ScriptedTransport([.hang])
        let send = Task { [batch = try batch(1)] in try await transport.send(batch) }
        await transport.waitForSends(1)
        send.cancel()
        await #expect(throws: CancellationError.self) { try await send.value }
        #expect(try transport.accepted().isEmpty)
    }

    @Test("waiting for sends that have already begun returns")
    func waitingForPastSendsReturns() async throws {
        let transport = ScriptedTransport()
        await transport.waitForSends(0)
        _ = try await transport.send(try batch(1))
        await transport.waitForSends(1)
    }
}
