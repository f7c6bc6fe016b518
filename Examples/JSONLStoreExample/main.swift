// No tracked event is lost when the process is killed. This program starts ten processes and kills each by SIGKILL while
// it tracks orders. Then it delivers the orders that the process left, and compares them with the acknowledged ones.
//
//     swift run JSONLStoreExample

import Foundation
import SluiceJSONL

/// Collects the numbers of the orders that it receives.
actor Collector: Transport {
    private(set) var numbers: [Int64] = []

    func send(_ batch: Batch) async throws -> Verdicts {
        for line in batch.events {
            if case .int(let number) = try line.event().properties["number"] { numbers.append(number) }
        }
        return .all(.accepted)
    }
}

/// The process that is killed: tracks one order after another, and acknowledges each after `track` has returned.
func work(in folder: String) throws {
    let pipeline = try Pipeline {
        JSONLStore(at: folder)
        Collector()
    }
    pipeline.pauseDelivery()  // As if there were no network.
    let moment = UInt32.random(in: 0...50_000)
    Thread.detachNewThread {
        usleep(moment)
        kill(getpid(), SIGKILL)
    }
    for number in 1... {
        pipeline.track("Order", ["number": number])
        var acknowledged = Int64(number)
        write(1, &acknowledged, 8)
    }
}

if let folder = CommandLine.arguments.dropFirst().first {
    do {
        try work(in: folder)
    } catch {
        print("JSONLStoreExample: \(error)\nusage: JSONLStoreExample")
        exit(64)  // EX_USAGE
    }
}

let folder = FileManager.default.temporaryDirectory.appending(path: "sluice-jsonl-\(UUID().uuidString)").path
for round in 1...10 {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = Bundle.main.executableURL
    process.arguments = [folder]
    process.standardOutput = pipe
    try process.run()
    let acknowledged = pipe.fileHandleForReading.readDataToEndOfFile().count / 8
    process.waitUntilExit()
    precondition(process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL)

    let collector = Collector()
    let pipeline = try Pipeline {
        JSONLStore(at: folder)
        collector
    }
    await pipeline.flush()
    let ledger = await pipeline.shutdown()
    let delivered = await collector.numbers
    print("process \(round): killed after \(acknowledged) acknowledged orders; \(delivered.count) delivered")
    // The last order may have been written without an acknowledgement.
    precondition(delivered == Array(1..<Int64(delivered.count + 1)) && delivered.count - acknowledged <= 1)
    precondition(delivered.count >= acknowledged, "an acknowledged order was lost")
    precondition(ledger.isBalanced)
}
print("no acknowledged order was lost")
try FileManager.default.removeItem(atPath: folder)
