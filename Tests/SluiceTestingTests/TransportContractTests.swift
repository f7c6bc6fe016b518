import Foundation
import Sluice
import SluiceStdout
import SluiceTesting
import Testing

@Suite struct TransportContractTests {
    @Test("StdoutTransport passes the contract")
    func stdoutTransportPasses() async throws {
        let null = try FileHandle(forWritingTo: URL(filePath: "/dev/null"))
        try await TransportContract.check { StdoutTransport(descriptor: null.fileDescriptor) }
    }

    @Test("StdoutTransport passes the contract on a full disk")
    func stdoutTransportPassesOnFullDisk() async throws {
        guard let full = FileHandle(forWritingAtPath: "/dev/full") else { return }
        try await TransportContract.check { StdoutTransport(descriptor: full.fileDescriptor) }
    }

    @Test(
        "ScriptedTransport passes the contract with every response",
        arguments: [
            ScriptedTransport.Step.answer(.all(.accepted)), .answer(.all(.hold(reason: "no"))),
            .failure(SluiceError(.shutDown, "no")),
        ])
    func scriptedTransportPassesForEveryResponse(step: ScriptedTransport.Step) async throws {
        try await TransportContract.check { ScriptedTransport(then: step) }
    }

    @Test("a wrong number of verdicts is found")
    func wrongNumberOfVerdictsIsFound() async throws {
        let error = await #expect(throws: SluiceError.self) {
            try await TransportContract.check { ScriptedTransport(then: .answer(.each([.accepted]))) }
        }
        #expect(error?.code == .brokenContract)
    }

    @Test("a send that doesn't return when it is cancelled is found")
    func sendThatIgnoresCancellationIsFound() async throws {
        let deaf = DeafTransport()
        let error = await #expect(throws: SluiceError.self) {
            try await TransportContract.check(timeout: .zero) { deaf }
        }
        #expect(error?.code == .brokenContract)
        deaf.end()
    }
}

/// Accepts the 11 batches that the check sends before the cancelled one, which hangs.
final class DeafTransport: Transport {
    private struct State {
        var sends = 0
        var hanging: CheckedContinuation<Void, Never>?
        var hasEnded = false
    }

    private let state = Locked(State())

    func send(_ batch: Batch) async throws -> Verdicts {
        let hangs = state.withLock { state in
            state.sends += 1
            return state.sends > 11
        }
        if hangs {
            await withCheckedContinuation { continuation in
                let hasEnded = state.withLock { state in
                    if !state.hasEnded { state.hanging = continuation }
                    return state.hasEnded
                }
                if hasEnded { continuation.resume() }
            }
        }
        return .all(.accepted)
    }

    func end() {
        let hanging = state.withLock { state in
            state.hasEnded = true
            return state.hanging
        }
        hanging?.resume()
    }
}
