import Foundation
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

@testable import Sluice
@testable import SluiceSystem

#if compiler(>=6.2) && (os(macOS) || os(Linux))
    /// The child of a `fork` takes none of its parent's locks.
    ///
    /// Each test is a process of its own: children of this one would keep the locks of other tests' stores for some time.
    @Suite(.disabled(if: ForkedChild.isUnsafe, "the sanitizer's own locks may be held in the child"))
    struct ForkTests {
        /// A stage whose lock is held for a large part of the time.
        final class Counter: Processor {
            let context = PluginContext()
            private let counts = Locked<[String: Int]>([:])

            func process(_ event: inout Event) -> Disposition {
                let count = counts.withLock { counts in
                    counts[event.name, default: 0] += 1
                    return counts.values.reduce(0, +)
                }
                event.properties["count"] = .int(count)
                return .keep
            }

            func emit(for signal: Signal) { context.track("Signal") }
        }

        /// A pipeline that has tracked events, and evicted some unless the capacity is larger, so the Swift runtime knows
        /// all types. It has locks for their first use.
        static func pipeline(
            _ counter: Counter = Counter(), capacity: Int = 10_000,
            onDiagnostic: @escaping @Sendable (Diagnostic) -> Void = { _ in }
        ) throws -> Pipeline {
            let pipeline = try Pipeline.with(counter, in: MemoryStore(capacity: capacity), onDiagnostic: onDiagnostic)
            pipeline.pauseDelivery()
            for name in ["Child", "Event"] {
                for _ in 0..<100 { pipeline.track(name, ["key": "value"]) }
            }
            return pipeline
        }

        /// The same, after its worker's thread has begun, which uses types for the first time too.
        static func workingPipeline(
            _ counter: Counter = Counter(), capacity: Int = 10_000,
            onDiagnostic: @escaping @Sendable (Diagnostic) -> Void = { _ in }
        ) async throws -> Pipeline {
            let pipeline = try pipeline(counter, capacity: capacity, onDiagnostic: onDiagnostic)
            await letWorkerBegin(pipeline)
            return pipeline
        }

        /// During a pause, a flush needs the worker, and sends nothing.
        static func letWorkerBegin(_ pipeline: Pipeline) async { for _ in 0..<3 { await pipeline.flush() } }

        /// Returns when each thread has tracked events: a thread that begins may hold the Swift runtime's locks for the
        /// first use of a type, which a child would wait for without end.
        static func trackWithoutEnd(_ pipeline: Pipeline, threads: Int = 4) {
            let begun = DispatchSemaphore(value: 0)
            for _ in 0..<threads {
                Thread.detachNewThread {
                    for count in 1... {
                        pipeline.track("Event", ["key": "value"])
                        if count == 100 { begun.signal() }
                    }
                }
            }
            for _ in 0..<threads { begun.wait() }
        }

        @Test("none of 500 children hangs in track while other threads of the parent track")
        func childrenDoNotHang() async {
            await #expect(processExitsWith: .success) {
                let pipeline = try await ForkTests.workingPipeline()
                ForkTests.trackWithoutEnd(pipeline)
                for number in 0..<500 {
                    let isRight = try await ForkedChild.succeeds {
                        for _ in 0..<3 { pipeline.track("Child", ["key": "value"]) }
                        return true
                    }
                    try #require(isRight, "child \(number)")
                }
            }
        }

        @Test("a child that stores a state doesn't hang while other threads of the parent build pipelines")
        func childrenStoreStates() async {
            await #expect(processExitsWith: .success) {
                let directory = TemporaryDirectory()
                /// Claims a place for a pipeline, as building one does, and frees it.
                @Sendable func use(_ name: String, saves: Bool = false) throws {
                    let place = Persistence.file("\(directory.path)/\(name)")
                    let state = PersistedState("state", in: place, initial: StoredCount()) { _ in }
                    let gate = StateGate()
                    try StateGate.$current.withValue(gate) { try state.load() }
                    if saves { try state.save { $0.number = 1 } }
                    gate.release()
                }
                // What exists is read without an error. For each error, swift-testing takes a lock, which one of these threads may
                // hold at the fork: the child would wait for it without end.
                for number in 0..<3 { try use("\(number)", saves: true) }
                let note = PersistedState("state", in: .file("\(directory.path)/note"), initial: StoredCount()) { _ in }
                let gate = StateGate()
                try StateGate.$current.withValue(gate) { try note.load() }
                try note.save { $0.number = -1 }
                for number in 0..<3 {
                    Thread.detachNewThread { while true { try? use("\(number)") } }
                }
                for number in 0..<100 {
                    let isRight = try await ForkedChild.succeeds {
                        // The parent's pipeline has no claims here.
                        let place = Persistence.file("\(directory.path)/note")
                        let state = PersistedState("state", in: place, initial: StoredCount()) { _ in }
                        try state.save { $0.number = number }
                        return true
                    }
                    try #require(isRight, "child \(number)")
                }
                gate.release()
            }
        }

        @Test("no other call of a pipeline hangs in a child, and the ledger counts the child's events")
        func otherCallsDoNotHang() async {
            await #expect(processExitsWith: .success) {
                // The Swift runtime then knows the types of these calls too.
                _ = await ForkTests.doesNothing(try ForkTests.pipeline())
                nonisolated(unsafe) var pipeline = Optional(try await ForkTests.workingPipeline())
                ForkTests.trackWithoutEnd(try #require(pipeline))
                for number in 0..<100 {
                    let isRight = try await ForkedChild.succeeds {
                        guard let inherited = pipeline else { return false }
                        let isRight = await ForkTests.doesNothing(inherited)
                        pipeline = nil
                        return isRight
                    }
                    try #require(isRight, "child \(number)")
                }
            }
        }

        /// Calls each method of a pipeline, and returns whether it did what it promises to the child of a fork.
        static func doesNothing(_ pipeline: Pipeline) async -> Bool {
            pipeline.trackTogether { pipeline.track("Child") }
            pipeline.signal(.didBecomeActive)
            pipeline.signal(.didEnterBackground)
            pipeline.setFlush(count: 5, interval: .seconds(1))
            pipeline.resumeDelivery()
            var isRight = await pipeline.flush().isComplete
            isRight = await !pipeline.deleteWaitingEvents() && isRight
            do {
                _ = try await pipeline.deadLetters()
                isRight = false
            } catch {}
            let ledger = await pipeline.shutdown()
            isRight = ledger.tracked == 1 && ledger.isBalanced && isRight
            isRight = ledger.dropped == [.leftToParentProcess: ledger.tracked] && isRight
            return ledger.routes.isEmpty && pipeline.ledger == ledger && isRight
        }

        @Test("a child's events are dropped, counted and reported once, with the ids that track returns")
        func childsEventsAreDropped() async {
            await #expect(processExitsWith: .success) {
                let messages = Locked<[Diagnostic]>([])
                let pipeline = try await ForkTests.workingPipeline(capacity: 100_000) { diagnostic in
                    messages.withLock { $0.append(diagnostic) }
                }
                let before = pipeline.ledger
                let isRight = try await ForkedChild.succeeds {
                    let id = EventID(high: 1, low: 2)
                    let ids = (0..<10).map { _ in pipeline.track("Child") }
                    guard pipeline.track("Child", id: id) == id, Set(ids).count == 10 else { return false }
                    let ledger = pipeline.ledger
                    let isCounted = ledger.tracked == 11 && ledger.dropped == [.leftToParentProcess: 11]
                    return isCounted && ledger.isBalanced && messages.withLock(\.self).map(\.kind) == [.dropped]
                }
                #expect(isRight)
                #expect(pipeline.ledger == before && messages.withLock(\.isEmpty))
            }
        }

        @Test("the child of a child counts with a lock of its own")
        func grandchildDoesNotHang() async {
            await #expect(processExitsWith: .success) {
                let pipeline = try await ForkTests.workingPipeline()
                let isRight = try await ForkedChild.succeeds {
                    pipeline.track("Child")
                    // As if another thread of the child held it at the time of the next fork.
                    let isRight = try await CurrentProcess.withChildLockHeld {
                        try await ForkedChild.succeeds(within: 50) {
                            pipeline.track("Grandchild")
                            return pipeline.ledger.dropped == [.leftToParentProcess: 2]
                        }
                    }
                    return isRight && pipeline.ledger.tracked == 1
                }
                #expect(isRight)
            }
        }

        @Test("a child leaves the events that wait in a closure to its parent")
        func childLeavesWaitingEventsToParent() async {
            await #expect(processExitsWith: .success) {
                let pipeline = try Pipeline.with()
                pipeline.pauseDelivery()
                pipeline.track("First")
                await ForkTests.letWorkerBegin(pipeline)
                let child = try pipeline.trackTogether {
                    for _ in 0..<3 { pipeline.track("Event") }
                    let child = try ForkedChild.begin()
                    if child == 0 {
                        ForkedChild.end(after: 60)
                        pipeline.track("Child")
                    }
                    return child
                }
                let ledger = pipeline.ledger
                if child == 0 {
                    _exit(ledger.dropped == [.leftToParentProcess: 1] && ledger.isBalanced ? 0 : 1)
                }
                #expect(ForkedChild.wait(for: child))
                #expect(ledger.routes[0].stored == 4 && ledger.tracked == 4 && ledger.isBalanced)
            }
        }

        @Test(
            "a pipeline that is built in a child stores events with ids of its own, and refuses plugins of the parent")
        func childBuildsPipeline() async {
            await #expect(processExitsWith: .success) {
                let counter = Counter()
                let pipeline = try await ForkTests.workingPipeline(counter)
                let parents = Set((0..<100).map { _ in pipeline.track("Event").low })
                let isRight = try await ForkedChild.succeeds {
                    let own = try ForkTests.pipeline(capacity: 100_000)
                    let ids = (0..<100).map { _ in own.track("Event").low }
                    let isStored = own.ledger.routes[0].stored == 300 && own.ledger.dropped.isEmpty
                    do {
                        _ = try ForkTests.pipeline(counter)
                        return false
                    } catch let error as SluiceError {
                        return isStored && parents.isDisjoint(with: ids)
                            && error.message.hasPrefix("one Counter stands in another pipeline")
                    }
                }
                #expect(isRight)
            }
        }

        @Test("the process number is that of the child")
        func processNumberIsThatOfChild() async {
            await #expect(processExitsWith: .success) {
                let (id, creator) = (CurrentProcess.id, CreatingProcess())
                let isRight = try await ForkedChild.succeeds {
                    CurrentProcess.id == getpid() && CurrentProcess.id != id && creator.isParent
                        && !CreatingProcess().isParent
                }
                #expect(isRight && CurrentProcess.id == id && !creator.isParent)
            }
        }
    }

    extension CurrentProcess {
        fileprivate static func withChildLockHeld<Result>(_ body: () async throws -> Result) async rethrows -> Result {
            let lock = childLock
            lock.lock()
            defer { lock.unlock() }
            return try await body()
        }
    }
#endif
