// Pieces of code in README.md and Docs whose result is more than that they compile: main.swift runs them.

import Foundation
import SluiceFilters
import SluiceMemory
import SluiceStdout
import SluiceTesting

enum Guides {
    // MARK: README.md

    static func printPurchase() async throws {
        let pipeline = try Pipeline {
            MemoryStore()
            StdoutTransport()
        }
        pipeline.track("Purchase", ["sku": "A-7", "amount": 12.5])
        await pipeline.shutdown()
    }

    // MARK: GettingStarted.md

    static func printEvents() async throws {
        let pipeline = try Pipeline {
            MemoryStore()
            StdoutTransport()
        }
        pipeline.track("Search", ["query": "blue shoes", "results": 42])
        await pipeline.shutdown()
    }

    // MARK: Testing.md

    static func hostTest() async throws {
        let time = VirtualTime()
        let transport = ScriptedTransport([.answer(.all(.retry(after: nil)))])  // Fails once, then accepts.
        let pipeline = try Pipeline(environment: .virtual(time, seed: 42)) {
            MemoryStore()
            transport
        }
        pipeline.track("Purchase", ["amount": 12.5])
        await pipeline.flush()  // Returns after the failure.
        await time.waitForSleeper()  // The route pauses.
        time.advance(by: .seconds(300))  // No test needs to sleep.
        await transport.waitForSends(2)
        let names = try transport.accepted().map(\.name)
        precondition(names == ["Purchase"])
    }

    static func recordedEvents() throws {
        let store = RecordingStore()
        let pipeline = try Pipeline {
            store
            NullTransport()
        }
        pipeline.track("Purchase", ["amount": 12.5])
        precondition(store.events.map(\.name) == ["Purchase"])
        precondition(store.events[0].properties["amount"]?.double == 12.5)
    }

    static func failingStore() async throws {
        let store = RecordingStore { operation, number in
            operation == .append && number == 1 ? SluiceError(.storageFull, "the disk is full") : nil
        }
        let pipeline = try Pipeline {
            store
            ScriptedTransport()
        }
        for name in ["First", "Second", "Third"] { pipeline.track(name) }
        let ledger = await pipeline.shutdown()
        precondition(ledger.routes[0].dropped == [.storeFull: 1] && ledger.routes[0].delivered == 2)
        precondition(ledger.isBalanced)
    }

    // MARK: Tracing.md

    static func tracesInTests() throws {
        let traces = TraceRecorder()
        let pipeline = try Pipeline(onTrace: traces.record) {
            Currency(code: "EUR")
            EventNames(denied: ["Debug*"])
            RecordingStore()
            NullTransport()
        }
        let purchase = pipeline.track("Purchase", ["price": 12.5])
        let changes = traces.traces(of: purchase)[0].stages[0].changes
        precondition(changes == [.property("currency", from: nil, to: "EUR")])

        let debug = pipeline.track("DebugView")
        let stage = traces.stage(dropping: debug)
        precondition(stage?.name == "EventNames" && stage?.disposition == .drop(.filtered))
    }
}

// MARK: WritingAStore.md

extension FileStore {
    static func check() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sluice-file-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var number = 0
        func path() -> String { folder.appending(path: "\(number).events").path }

        try await StoreContract.check(reopen: { FileStore(at: path()) }) {
            number += 1  // Each promise is checked with an empty store.
            return FileStore(at: path())
        }

        let torn = FileHandle(forWritingAtPath: path())
        try torn?.seekToEnd()
        try torn?.write(contentsOf: Data(#"0{"id":"01a213c1-387f-7023"#.utf8))  // As a crash leaves it.
        let waiting = FileStore(at: path())
        try waiting.open(StoreObserver(), in: PipelineEnvironment())
        precondition(waiting.backlog.events == 20)  // The events that the contract has left, without the torn one.
        try FileManager.default.removeItem(at: folder)
    }
}
