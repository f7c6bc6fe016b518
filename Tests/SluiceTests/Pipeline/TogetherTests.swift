import Foundation
import Sluice
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

/// Events that a thread stores together.
@Suite struct TogetherTests {
    /// A store that notes the names of the events of each call.
    final class CallStore: StoreWrapper {
        let base = MemoryStore()
        private let calls_ = Locked<[[String]]>([])

        var calls: [[String]] { calls_.withLock(\.self) }

        private func note(_ lines: [EventLine]) throws(SluiceError) {
            var names: [String] = []
            for line in lines { names.append(try line.event().name) }
            calls_.withLock { $0.append(names) }
        }

        func append(_ line: EventLine) throws(SluiceError) {
            try note([line])
            try base.append(line)
        }

        func append(contentsOf lines: [EventLine]) -> [Int: SluiceError] {
            do throws(SluiceError) {
                try note(lines)
            } catch {
                return [0: error]
            }
            return base.append(contentsOf: lines)
        }
    }

    /// Inserts an event before each "b", tracks one after each "c", and holds "d" until the next "e".
    final class Inserter: Processor {
        let context = PluginContext()
        private let held = Locked<Event?>(nil)

        func process(_ event: inout Event) -> Disposition {
            switch event.name {
            case "b": context.insert("before b", before: event)
            case "c": context.track("from c")
            case "d":
                held.withLock { [event] in $0 = event }
                return context.hold(event)
            case "e": if let event = held.withLock({ $0.take() }) { context.forward(event) }
            default: break
            }
            return .keep
        }
    }

    private let store = CallStore()

    private func pipeline(_ processor: any Processor = Keep()) throws -> Pipeline {
        // By the real clock, a store that a thread still uses would be left alone soon after a deadline of zero.
        let pipeline = try Pipeline.with(processor, in: store, environment: Bench.environment(VirtualTime()))
        pipeline.pauseDelivery()
        return pipeline
    }

    private func track(_ names: String..., in pipeline: Pipeline) {
        for name in names { pipeline.track(name) }
    }

    @Test("events of the closure are stored together when it returns, and are counted")
    func eventsAreStoredTogether() throws {
        let pipeline = try pipeline()
        let ids = pipeline.trackTogether {
            let ids = ["a", "b", "c"].map { pipeline.track($0) }
            #expect(store.calls.isEmpty)
            return ids
        }
        #expect(store.calls == [["a", "b", "c"]])
        let events = try #require(try store.nextBatch(BatchSize(events: 9, bytes: .max))).events
        #expect(events.map(\.id) == ids)
        #expect(pipeline.ledger.tracked == 3)
        #expect(pipeline.ledger.routes[0].received == 3)
        #expect(pipeline.ledger.routes[0].stored == 3)
        pipeline.track("d")
        #expect(store.calls.last == ["d"])
    }

    @Test("the error of the closure is thrown, and its events are stored")
    func errorIsThrown() throws {
        struct Failure: Error {}
        let pipeline = try pipeline()
        #expect(throws: Failure.self) {
            try pipeline.trackTogether {
                track("a", "b", in: pipeline)
                throw Failure()
            }
        }
        #expect(store.calls == [["a", "b"]])
    }

    @Test("an inner call belongs to the outer one")
    func innerCallBelongsToOuterOne() throws {
        let pipeline = try pipeline()
        pipeline.trackTogether {
            pipeline.track("a")
            pipeline.trackTogether { pipeline.track("b") }
            #expect(store.calls.isEmpty)
            pipeline.track("c")
        }
        #expect(store.calls == [["a", "b", "c"]])
    }

    @Test("events that plugins make keep their place, and so do held ones")
    func pluginEventsKeepTheirPlace() throws {
        let pipeline = try pipeline(Inserter())
        pipeline.trackTogether { track("a", "b", "c", "d", "x", "e", in: pipeline) }
        // An event that a plugin tracks passes the plugin while the event that caused it is being processed.
        #expect(
            store.calls == [["a"], ["before b"], ["b"], ["from c"], ["c", "x"], ["d"], ["e"]])
    }

    /// Tracks an event as a host would, while another event is processed and when the app ends.
    final class Caller: Processor {
        let pipeline = Locked<Pipeline?>(nil)

        func process(_ event: inout Event) -> Disposition {
            if ["before b", "from c", "d"].contains(event.name) { call("called for \(event.name)") }
            return .keep
        }

        func emit(for signal: Signal) { call("called at the end") }

        private func call(_ name: String) { _ = pipeline.withLock(\.self)?.track(name) }
    }

    @Test("events that a processor tracks as a host would have the same order as without the closure")
    func callsOfProcessorsKeepTheirPlace() throws {
        func names(_ isTogether: Bool) throws -> [String] {
            let (caller, store) = (Caller(), CallStore())
            let pipeline = try Pipeline.with(Inserter(), caller, in: store)
            pipeline.pauseDelivery()
            caller.pipeline.withLock { $0 = pipeline }
            defer { caller.pipeline.withLock { $0 = nil } }
            let all = {
                self.track("a", "b", "c", "d", "x", "e", in: pipeline)
                pipeline.signal(.willTerminate)
                #expect(store.calls.flatMap(\.self).last == "called at the end")
            }
            if isTogether { pipeline.trackTogether(all) } else { all() }
            return store.calls.flatMap(\.self)
        }
        #expect(try names(true) == names(false))
    }

    @Test("a signal finds the events of the closure in the store")
    func signalFindsEventsInStore() throws {
        let pipeline = try pipeline()
        pipeline.trackTogether {
            pipeline.track("a")
            pipeline.signal(.willTerminate)
            #expect(store.calls == [["a"]])
            pipeline.track("b")
        }
        #expect(store.calls == [["a"], ["b"]])
    }

    @Test("at most 256 KiB are kept in memory")
    func memoryIsBounded() throws {
        let pipeline = try pipeline()
        let text = String(repeating: "x", count: 10_000)
        pipeline.trackTogether {
            for number in 0..<60 { pipeline.track("\(number)", ["text": text]) }
            #expect(store.calls.map(\.count) == [26, 26])
        }
        #expect(store.calls.flatMap(\.self) == (0..<60).map(String.init))
    }

    @Test("events of other threads are stored immediately, and each thread has its own events together")
    func threadsAreIndependent() throws {
        let pipeline = try pipeline()
        pipeline.trackTogether {
            pipeline.track("a")
            onOtherThread { [store] in
                pipeline.track("b")
                #expect(store.calls == [["b"]])
                pipeline.trackTogether {
                    pipeline.track("c")
                    pipeline.track("d")
                }
            }
            pipeline.track("e")
        }
        #expect(store.calls == [["b"], ["c", "d"], ["a", "e"]])
    }

    @Test("8 threads lose nothing")
    func threadsLoseNothing() throws {
        let pipeline = try pipeline()
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for round in 0..<20 {
                pipeline.trackTogether {
                    for number in 0..<10 { pipeline.track("\(thread)-\(round)-\(number)") }
                }
            }
        }
        #expect(store.calls.count == 160)
        #expect(store.calls.allSatisfy { $0.count == 10 && Set($0.map { $0.prefix { $0 != "-" } }).count == 1 })
        #expect(Set(store.calls.flatMap(\.self)).count == 1_600)
        #expect(pipeline.ledger.routes[0].stored == 1_600)
    }

    @Test("each route gets its own events together")
    func eachRouteGetsItsEvents() throws {
        let other = CallStore()
        let pipeline = try Pipeline {
            Route("one", in: store)
            Route("two", Inserter(), in: other)
        }
        pipeline.pauseDelivery()
        pipeline.trackTogether { track("a", "d", "x", in: pipeline) }
        #expect(store.calls == [["a", "d", "x"]])
        #expect(other.calls == [["a", "x"]])
        let routes = pipeline.ledger.routes
        #expect(routes.map(\.received) == [3, 3])
        #expect(routes.map(\.stored) == [3, 2])
        #expect(routes.map(\.held) == [0, 1])
    }

    @Test("events that the store refuses are counted")
    func refusedEventsAreCounted() async throws {
        let pipeline = try Pipeline.with(in: MemoryStore(capacity: 1_000), maximumEventBytes: 2_000)
        pipeline.pauseDelivery()
        pipeline.trackTogether {
            pipeline.track("fits")
            pipeline.track("too large for the store", ["text": String(repeating: "x", count: 1_500)])
            pipeline.track("too large for the pipeline", ["text": String(repeating: "x", count: 2_500)])
            pipeline.track("")
        }
        #expect(pipeline.ledger.routes[0].stored == 1)
        #expect(pipeline.ledger.routes[0].dropped == [.tooLarge: 2])
        #expect(pipeline.ledger.dropped == [.emptyName: 1])
        await pipeline.shutdown(timeout: .zero)
        pipeline.trackTogether { pipeline.track("late") }
        #expect(pipeline.ledger.dropped == [.emptyName: 1, .shutDown: 1])
    }

    @Test("events of a closure during which the pipeline is shut down are counted")
    func shutdownIsCounted() async throws {
        let pipeline = try pipeline()
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                pipeline.trackTogether {
                    pipeline.track("early")
                    let closed = DispatchSemaphore(value: 0)
                    Task {
                        await pipeline.shutdown(timeout: .zero)
                        closed.signal()
                    }
                    closed.wait()
                    pipeline.track("late")
                }
                continuation.resume()
            }
        }
        #expect(pipeline.ledger.tracked == 2)
        #expect(pipeline.ledger.dropped == [.shutDown: 1])
        #expect(pipeline.ledger.routes[0].dropped == [.shutDown: 1])
    }

    @Test("with traces, each event is stored when it is tracked")
    func tracesNameTheStore() throws {
        let traces = Locked<[EventTrace]>([])
        let pipeline = try Pipeline.with(in: store, onTrace: { trace in traces.withLock { $0.append(trace) } })
        pipeline.pauseDelivery()
        pipeline.trackTogether { track("a", "b", in: pipeline) }
        #expect(store.calls == [["a"], ["b"]])
        #expect(traces.withLock(\.count) == 2)
    }

    @Test("typed events are tracked together, and by a stand-in too")
    func typedEventsAreTrackedTogether() throws {
        let pipeline = try pipeline()
        let purchases = ["x", "y"].map { TrackedEventTests.Purchase(sku: $0) }
        let ids = pipeline.track(contentsOf: purchases, priority: .critical)
        #expect(store.calls == [["Purchase", "Purchase"]])
        let batch = try #require(try store.nextBatch(BatchSize(events: 9, bytes: .max)))
        #expect(batch.events.map(\.id) == ids)
        #expect(batch.events.allSatisfy { $0.priority == .critical })
        #expect(try batch.events.map { try $0.event().properties["sku"] } == ["x", "y"])
        let erased: any EventTracking = pipeline
        erased.track(contentsOf: purchases)
        #expect(store.calls.count == 2)
        #expect(pipeline.track(contentsOf: [TrackedEventTests.Purchase]()).isEmpty)

        let spy = TrackedEventTests.Spy()
        spy.track(contentsOf: purchases)
        #expect(spy.events.withLock { $0.map(\.name) } == ["Purchase", "Purchase"])
    }
}
