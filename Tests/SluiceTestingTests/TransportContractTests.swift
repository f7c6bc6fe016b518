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
            ScriptedTransport.Step.answer(.all(.accepted)), .answer(.all(.hold("no"))),
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

/// Hangs once its task is cancelled.
final class DeafTransport: Transport {
    private let hanging = Locked<[CheckedContinuation<Void, Never>]>([])

    func send(_ batch: Batch) async throws -> Verdicts {
        if Task.isCancelled {
            await withCheckedContinuation { continuation in hanging.withLock { $0.append(continuation) } }
        }
        return .all(.accepted)
    }

    func end() {
        let continuations = hanging.withLock { hanging in
            defer { hanging = [] }
            return hanging
        }
        for continuation in continuations { continuation.resume() }
    }
}
