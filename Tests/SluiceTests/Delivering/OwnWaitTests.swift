import Sluice
import SluiceMemory
import SluiceTesting
import Testing

/// Transports that wait for their own batch.
@Suite struct OwnWaitTests {
    /// Calls the pipeline while it sends.
    private final class Caller: Transport {
        private let call: @Sendable (Pipeline) async -> Void
        private let pipeline = Locked<Pipeline?>(nil)

        init(_ call: @escaping @Sendable (Pipeline) async -> Void) {
            self.call = call
        }

        func use(_ pipeline: Pipeline?) { self.pipeline.withLock { $0 = pipeline } }

        func send(_ batch: Batch) async throws -> Verdicts {
            if let pipeline = pipeline.withLock(\.self) { await call(pipeline) }
            return .all(.accepted)
        }
    }

    enum Call: CaseIterable {
        case flush, delete, erase, childTask
    }

    @Test(
        "a flush, a deletion or an erasure in a transport's own send returns, and is reported once",
        .timeLimit(.minutes(10)), arguments: Call.allCases)
    func ownWaitReturns(call: Call) async throws {
        let results = Locked<[Bool]>([])
        let caller = Caller { pipeline in
            let isComplete: Bool
            switch call {
            case .flush: isComplete = await pipeline.flush().isComplete
            case .delete: isComplete = await pipeline.deleteWaitingEvents()
            case .erase: isComplete = await pipeline.eraseEverything().isComplete
            case .childTask:
                async let report = pipeline.flush()
                isComplete = await report.isComplete
            }
            results.withLock { $0.append(isComplete) }
        }
        let notes = Locked<[Diagnostic]>([])
        let pipeline = try Pipeline(
            isDeliveryPaused: true, onDiagnostic: { line in notes.withLock { $0.append(line) } }
        ) {
            MemoryStore()
            caller
        }
        caller.use(pipeline)
        for _ in 0..<150 { pipeline.track("Event") }
        pipeline.resumeDelivery()
        while pipeline.ledger.routes[0].delivered < 150 { await pipeline.flush() }
        #expect(results.withLock(\.self) == [false, false])
        #expect(notes.withLock { $0.filter { $0.kind == .note }.map(\.route) } == ["main"])
        caller.use(nil)
        #expect(await pipeline.shutdown().isBalanced)
    }

    @Test("a transport can flush other routes and other pipelines", .timeLimit(.minutes(10)))
    func otherRoutesAreFlushed() async throws {
        let other = ScriptedTransport()
        let delivered = Locked<[Int]>([])
        let caller = Caller { pipeline in
            let report = await pipeline.flush()
            delivered.withLock { $0.append(report.delivered) }
        }
        let pipeline = try Pipeline(isDeliveryPaused: true) {
            Route("caller") {
                MemoryStore()
                caller
            }
            Route("other") {
                MemoryStore()
                other
            }
        }
        caller.use(pipeline)
        for _ in 0..<3 { pipeline.track("Event") }
        pipeline.resumeDelivery()
        await pipeline.flush()
        #expect(delivered.withLock(\.count) == 1)
        #expect(other.batches.count == 1)
        caller.use(nil)
        #expect(await pipeline.shutdown().routes.map(\.delivered) == [3, 3])
    }

    @Test(
        "any number of routes whose transports flush the pipeline return", .timeLimit(.minutes(10)),
        arguments: [2, 11, 40])
    func manyRoutesReturn(count: Int) async throws {
        let callers = (0..<count).map { _ in Caller { await $0.flush() } }
        let pipeline = try Pipeline(isDeliveryPaused: true) {
            for (number, caller) in callers.enumerated() {
                Route("\(number)") {
                    MemoryStore()
                    caller
                }
            }
        }
        for caller in callers { caller.use(pipeline) }
        pipeline.track("Event")
        pipeline.resumeDelivery()
        await pipeline.flush()
        for caller in callers { caller.use(nil) }
        let ledger = await pipeline.shutdown(timeout: .seconds(600))
        #expect(ledger.isBalanced && ledger.routes.allSatisfy { $0.delivered == 1 })
    }

    @Test("a circle of transports that flush the next route returns", .timeLimit(.minutes(10)), arguments: [2, 3, 5])
    func circlesReturn(count: Int) async throws {
        let pipelines = Locked<[Pipeline]>([])
        let notes = Locked(0)
        // Each first send waits for the others, so that all flush in theirs.
        let (sends, gate) = (Locked(0), Gate())
        for number in 0..<count {
            let caller = Caller { _ in
                let isLast = sends.withLock { sends in
                    sends += 1
                    return sends == count
                }
                if isLast { gate.open() }
                await gate.wait()
                let next = pipelines.withLock { $0[(number + 1) % count] }
                await next.flush()
            }
            let pipeline = try Pipeline(
                isDeliveryPaused: true,
                onDiagnostic: { line in notes.withLock { $0 += line.kind == .note ? 1 : 0 } }
            ) {
                MemoryStore()
                caller
            }
            caller.use(pipeline)
            pipelines.withLock { $0.append(pipeline) }
        }
        let all = pipelines.withLock(\.self)
        for pipeline in all {
            for _ in 0..<150 { pipeline.track("Event") }
        }
        for pipeline in all { pipeline.resumeDelivery() }
        for pipeline in all {
            while pipeline.ledger.routes[0].delivered < 150 { await pipeline.flush() }
        }
        #expect((1...count).contains(notes.withLock(\.self)))
        for pipeline in all { #expect(await pipeline.shutdown().isBalanced) }
    }
}
