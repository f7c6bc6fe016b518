import Foundation
import SluiceStdout
import SluiceTesting
import Testing

@Suite struct TransportContractTests {
    @Test("StdoutTransport passes the contract, also on a full disk", arguments: ["/dev/null", "/dev/full"])
    func stdoutTransportPasses(path: String) async throws {
        // Only Linux has a full disk of this kind.
        guard let file = FileHandle(forWritingAtPath: path) else { return #expect(path == "/dev/full") }
        try await TransportContract.check { StdoutTransport(descriptor: file.fileDescriptor) }
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

    @Test("every broken promise is found, and none hangs the check", arguments: BrokenTransport.Defect.allCases)
    func everyBrokenPromiseIsFound(defect: BrokenTransport.Defect) async throws {
        let error = await Hang.run { hang in try await TransportContract.check { BrokenTransport(defect, hang) } }
        #expect(error?.code == .brokenContract)
        #expect(error?.message.contains(defect.rawValue) == true, "\(String(describing: error))")
    }
}

/// Breaks one promise.
final class BrokenTransport: Transport {
    /// A defect, and a part of the sentence.
    enum Defect: String, CaseIterable {
        case oneVerdict = "1 verdicts on a batch of 100 events"
        case noVerdict = "0 verdicts on a batch of 1 events"
        case verdictsOfTheFirst = "100 verdicts on a batch of 1 events"
        case neverReturns = "a send of 1 events didn't return"
        case blocksItsThread = "a send of 1 events didn't return within"
        case hangsWithManyEvents = "a send of 100 events didn't return"
        case hangsConcurrently = "one of eight concurrent sends didn't return"
        case ignoresCancellation = "a cancelled send didn't return"
    }

    private let defect: Defect
    private let hang: Hang
    private let sends = Locked(0)

    init(_ defect: Defect, _ hang: Hang) {
        self.defect = defect
        self.hang = hang
    }

    func send(_ batch: Batch) async throws -> Verdicts {
        let count = sends.withLock { sends in
            sends += 1
            return sends
        }
        switch defect {
        case .oneVerdict: return .each([.accepted])
        case .noVerdict: return .each([])
        case .verdictsOfTheFirst: return .each(Array(repeating: .accepted, count: 100))
        // A transport that awaits its own pipeline never resumes either.
        case .neverReturns: await hang.suspend()
        case .blocksItsThread: hang.wait()
        case .hangsWithManyEvents: if batch.events.count > 1 { await hang.suspend() }
        // After three sends, the next ones are concurrent.
        case .hangsConcurrently: if count == 5 { hang.wait() }
        case .ignoresCancellation: if count > 11 { await hang.suspend() }
        }
        return .all(.accepted)
    }
}
