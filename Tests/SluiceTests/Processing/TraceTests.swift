import Sluice
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

@Suite("Traces of events") struct TraceTests {
    let traces = TraceRecorder()
    let store = RecordingStore()

    /// A pipeline of these processors. It keeps its events in the store, and sends nothing.
    private func pipeline(_ processors: any Processor...) throws -> Pipeline {
        try Pipeline(onTrace: traces.record) {
            processors
            store
            NullTransport()
        }
    }

    // MARK: Changes

    @Test("a trace lists each stage with its changes")
    func stagesListChanges() throws {
        let other = EventID(high: 1, low: 2)
        let pipeline = try pipeline(
            Transform { event in
                event.properties["added"] = 1
                event.properties["price"] = 2.5
                event.properties["email"] = nil
            },
            Keep(),
            Transform { event in
                event.name = "Order"
                event.priority = .critical
                event.time = Timestamp(milliseconds: 5)
                (event.distinctID, event.anonymousID, event.loginID) = ("d", "a", "l")
                event.report(.droppedProperty)
            },
            Transform { event in
                event = Event(id: other, name: event.name, time: event.time, properties: ["nan": .double(.nan)])
            })
        pipeline.track("Purchase", ["price": 1.5, "email": "a@b.example", "same": true], id: EventID(high: 0, low: 1)) {
            $0.time = Timestamp(milliseconds: 4)
        }
        let trace = try #require(traces.traces.first)
        #expect(traces.traces.count == 1 && trace.startsBelow == nil && trace.disposition == .keep)
        #expect(trace.event.name == "Purchase" && trace.event.properties["email"] == "a@b.example")
        #expect(trace.stages.map(\.name) == ["Transform", "Keep", "Transform", "Transform"])
        #expect(trace.stages.allSatisfy { $0.route == nil && $0.disposition == .keep })
        #expect(
            trace.stages[0].changes == [
                .property("price", from: 1.5, to: 2.5), .property("added", from: nil, to: 1),
                .property("email", from: "a@b.example", to: nil),
            ])
        #expect(trace.stages[1].changes.isEmpty)
        #expect(
            trace.stages[2].changes == [
                .field("name", from: "Purchase", to: "Order"), .field("priority", from: "normal", to: "critical"),
                .field(
                    "time", from: .date(Timestamp(milliseconds: 4)), to: .date(Timestamp(milliseconds: 5))),
                .field("distinctID", from: nil, to: "d"), .field("anonymousID", from: nil, to: "a"),
                .field("loginID", from: nil, to: "l"),
                .sanitized(.droppedProperty),
            ])
        #expect(
            trace.stages[3].changes.contains(
                .field("id", from: EventID(high: 0, low: 1).propertyValue, to: other.propertyValue)))
        let nan = EventTrace.Change.property("nan", from: nil, to: PropertyValue.null)
        #expect(trace.stages[3].changes.contains(nan))
        #expect(trace.stages[3].changes.contains(.sanitized(.nonFiniteNumber)))
        #expect(trace.routes.map(\.name) == ["main"] && trace.isStored)
    }

    @Test("the changes of a trace turn the tracked properties into the stored ones")
    func changesAreComplete() throws {
        let random = Locked(SeededRandom(seed: 7))
        let shuffle = Transform { event in
            random.withLock { random in
                for _ in 0..<Int.random(in: 0..<20, using: &random) {
                    let name = "p\(Int.random(in: 0..<30, using: &random))"
                    let value = Int.random(in: 0..<3, using: &random)
                    event.properties[name] = value == 0 ? nil : PropertyValue.int(value)
                }
            }
        }
        let pipeline = try pipeline(shuffle, shuffle, shuffle)
        let shared = Properties((0..<15).map { ("p\($0)", .int(2)) }).shared()
        for number in 0..<200 {
            pipeline.track("E", number % 2 == 0 ? shared : ["p1": 2, "own": 1])
        }
        for (trace, event) in zip(traces.traces, store.events) {
            var expected = Dictionary(uniqueKeysWithValues: trace.event.properties.map { ($0.name, $0.value) })
            for case .property(let name, let old, let new) in trace.stages.flatMap(\.changes) {
                #expect(expected[name] == old && old != new)
                expected[name] = new
            }
            #expect(expected == Dictionary(uniqueKeysWithValues: event.properties.map { ($0.name, $0.value) }))
        }
        #expect(traces.traces.count == 200 && store.events.count == 200)
    }

    @Test("the times of stages and stores are those of the environment's suspending clock")
    func timesAreThoseOfTheEnvironment() throws {
        let time = VirtualTime()
        let slowStore = RecordingStore(store) { _, _ in
            time.advance(by: .milliseconds(5))
            return nil
        }
        let pipeline = try Pipeline(environment: .virtual(time, seed: 1), onTrace: traces.record) {
            Keep()
            Transform { _ in
                time.advance(by: .milliseconds(3))
                time.suspendMachine(for: .seconds(60))
            }
            slowStore
            NullTransport()
        }
        pipeline.track("E")
        let trace = try #require(traces.traces.first)
        #expect(trace.stages.map(\.duration) == [.zero, .milliseconds(3)])
        #expect(trace.routes.map(\.duration) == [.milliseconds(5)])
        #expect(trace.duration == .milliseconds(8))
    }

    // MARK: Ends

    @Test("a trace has the stages and the result of each route")
    func routesHaveResults() throws {
        let full = RecordingStore { operation, _ in
            operation == .append ? SluiceError(.storageFull, "the disk is full") : nil
        }
        let holder = Holder("Held", insertingBefore: "Cause")
        let pipeline = try Pipeline(onTrace: traces.record) {
            Keep()
            Route("plain", in: store)
            Route("own", Transform { $0.properties["own"] = true })
            Route("dropping", Filter { _ in false })
            Route("holding", Keep(), holder)
            Route("full", in: full)
        }
        pipeline.track("Held")
        let trace = try #require(traces.traces.first)
        #expect(trace.stages.map(\.route) == [nil, "own", "dropping", "holding", "holding"])
        #expect(trace.stages.map(\.name) == ["Keep", "Transform", "Filter", "Keep", "Holder"])
        // The change of one route isn't one of the next.
        #expect(trace.stages.map(\.changes.count) == [0, 1, 0, 0, 0])
        #expect(trace.routes.map(\.name) == ["plain", "own", "dropping", "holding", "full"])
        #expect(trace.routes.map(\.disposition) == [.keep, .keep, .drop(.filtered), .hold, .drop(.storeFull)])
        #expect(trace.routes.map(\.error?.code) == [nil, nil, nil, nil, .storageFull])
        #expect(trace.disposition == .keep && trace.isStored)

        for event in holder.take() { holder.context.forward(event) }
        let forwarded = try #require(traces.traces.last)
        #expect(traces.traces.count == 2 && forwarded.startsBelow == "Holder" && forwarded.stages.isEmpty)
        #expect(forwarded.routes.map(\.name) == ["holding"] && forwarded.isStored)
    }

    @Test("refusals by encoding, sanitization and a shutdown are in the trace")
    func refusalsAreTraced() async throws {
        let holder = Holder("Held", insertingBefore: "Cause")
        let pipeline = try Pipeline.with(holder, Keep(), in: store, maximumEventBytes: 2_000, onTrace: traces.record)
        let large = pipeline.track("E", ["large": .string(String(repeating: "x", count: 3_000))])
        var trace = try #require(traces.traces(of: large).first)
        #expect(trace.disposition == .keep && trace.routes.map(\.disposition) == [.drop(.tooLarge)])
        #expect(trace.routes.map(\.error?.code) == [.eventTooLarge])

        let name = String(repeating: "n", count: Event.maximumNameBytes)
        let long = pipeline.track(name + "x", ["nan": .double(.nan)]) { $0.loginID = name + "x" }
        trace = try #require(traces.traces(of: long).first)
        #expect(trace.stages.map(\.name) == ["Holder", "Keep", "sanitization"])
        #expect(
            trace.stages[2].changes == [
                .field("name", from: .string(name + "x"), to: .string(name)), .sanitized(.droppedID),
                .sanitized(.nonFiniteNumber),
                .sanitized(.truncatedName),
            ])
        #expect(trace.isStored)

        trace = try #require(traces.traces(of: pipeline.track("")).first)
        #expect(trace.disposition == .drop(.emptyName) && trace.stages.count == 2 && trace.routes.isEmpty)

        pipeline.track("Held")
        await pipeline.shutdown()
        trace = try #require(traces.traces(of: pipeline.track("Late", ["a": 1])).first)
        #expect(trace.disposition == .drop(.shutDown) && trace.stages.isEmpty && trace.routes.isEmpty)
        #expect(trace.event.name == "Late" && trace.event.properties["a"] == 1)
        for event in holder.take() { holder.context.forward(event) }
        trace = try #require(traces.traces.last)
        #expect(trace.event.name == "Held" && trace.disposition == .drop(.shutDown) && trace.startsBelow == "Holder")
    }

    // MARK: Plugins

    @Test("events that a stage inserts, forwards or drops later have traces of their own, from below the stage")
    func pluginEventsHaveTraces() throws {
        let holder = Holder("Held", insertingBefore: "Cause")
        let pipeline = try pipeline(Keep(), holder, Transform { $0.properties["below"] = true })
        let cause = pipeline.track("Cause")
        #expect(traces.traces.map(\.event.name) == ["Inserted", "Cause"])
        #expect(traces.traces.map(\.startsBelow) == ["Holder", nil])
        #expect(traces.traces[0].stages.map(\.name) == ["Transform"] && traces.traces[0].event.id != cause)
        #expect(traces.traces[0].stages[0].changes == [.property("below", from: nil, to: true)])
        #expect(traces.traces[1].stages.map(\.name) == ["Keep", "Holder", "Transform"])

        let held = pipeline.track("Held")
        #expect(traces.traces(of: held).map(\.disposition) == [.hold])
        for event in holder.take() { holder.context.forward(event) }
        #expect(traces.traces(of: held).map(\.startsBelow) == [nil, "Holder"])
        #expect(traces.traces(of: held).last?.stages.map(\.name) == ["Transform"])
        #expect(traces.traces(of: held).last?.isStored == true)

        let dropped = pipeline.track("Held")
        for event in holder.take() { holder.context.drop(event, because: .expired) }
        #expect(traces.traces(of: dropped).map(\.disposition) == [.hold, .drop(.expired)])
        #expect(traces.stage(dropping: dropped)?.name == "Holder")
        #expect(traces.stage(dropping: dropped)?.disposition == .drop(.expired))
    }

    @Test("an event that a plugin drops in a route is a result of that route")
    func dropInRouteIsTraced() throws {
        let holder = Holder("Held", insertingBefore: "Cause")
        let pipeline = try Pipeline(onTrace: traces.record) {
            Route("one", holder, in: store)
        }
        let id = pipeline.track("Held")
        for event in holder.take() { holder.context.drop(event, because: .expired) }
        let trace = try #require(traces.traces(of: id).last)
        #expect(trace.routes.map(\.name) == ["one"] && trace.routes.map(\.disposition) == [.drop(.expired)])
        #expect(trace.stages.map(\.route) == ["one"] && trace.disposition == .keep)
        #expect(pipeline.ledger.held == 0 && pipeline.ledger.routes[0].held == 0)
    }

    // MARK: The closure

    /// Passes traces to a closure that is made later, because it needs the pipeline.
    private final class Relay: Sendable {
        let body = Locked<@Sendable (EventTrace) -> Void>({ _ in })

        func record(_ trace: EventTrace) { body.withLock(\.self)(trace) }
    }

    @Test("events that the closure tracks, itself or in a task, are stored and not traced")
    func closureCanTrack() async throws {
        let relay = Relay()
        let pipeline = try Pipeline.with(in: store, onTrace: relay.record)
        let traces = traces
        let tasks = Locked<[Task<Void, Never>]>([])
        relay.body.withLock { body in
            body = { trace in
                traces.record(trace)
                pipeline.track("Direct")
                let task = Task { _ = pipeline.track("Task") }
                tasks.withLock { $0.append(task) }
            }
        }
        for _ in 0..<3 { pipeline.track("E") }
        for task in tasks.withLock(\.self) { await task.value }
        relay.body.withLock { $0 = { _ in } }
        #expect(traces.traces.map(\.event.name) == ["E", "E", "E"])
        #expect(store.events(named: "Direct").count == 3 && store.events(named: "Task").count == 3)
    }

    @Test("two pipelines whose closures track in each other don't recurse")
    func closuresOfTwoPipelinesEnd() throws {
        let (first, second) = (Relay(), Relay())
        let pipelines = try [first, second].map { relay in try Pipeline.with(onTrace: relay.record) }
        let traces = traces
        for (relay, other) in [(first, pipelines[1]), (second, pipelines[0])] {
            relay.body.withLock { body in
                body = { trace in
                    traces.record(trace)
                    other.track("Echo")
                }
            }
        }
        pipelines[0].track("E")
        pipelines[1].track("E")
        for relay in [first, second] { relay.body.withLock { $0 = { _ in } } }
        #expect(traces.traces.map(\.event.name) == ["E", "E"])
        #expect(pipelines.map(\.ledger.tracked) == [2, 2])
    }

    @Test("threads that track at the same time get a whole trace for each of their events")
    func threadsGetWholeTraces() async throws {
        let pipeline = try pipeline(
            Transform { $0.properties["first"] = $0.properties["number"] },
            Filter { $0.properties["number"]?.int.map { $0 % 10 != 0 } ?? true },
            Transform { $0.properties["second"] = $0.properties["number"] })
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for number in 0..<100 { pipeline.track("E", ["number": task * 100 + number]) }
                }
            }
        }
        let numbers = traces.traces.compactMap { $0.event.properties["number"]?.int }
        #expect(numbers.sorted() == Array(0..<800))
        for (trace, number) in zip(traces.traces, numbers) {
            #expect(trace.stages[0].changes == [.property("first", from: nil, to: .int(number))])
            #expect(trace.isStored == (number % 10 != 0) && trace.stages.count == (number % 10 == 0 ? 2 : 3))
        }
    }

    @Test("an event that passes a thousand stages has all of them in its trace")
    func thousandStages() throws {
        let pipeline = try Pipeline(onTrace: traces.record) {
            for number in 0..<1_000 { Transform { $0.properties["last"] = PropertyValue.int(number) } }
            store
            NullTransport()
        }
        pipeline.track("E")
        let stages = try #require(traces.traces.first).stages
        #expect(stages.count == 1_000)
        #expect(stages.last?.changes == [.property("last", from: 998, to: 999)])
        #expect("\(traces.traces[0])".split(separator: "\n").count == 1_003)
    }

    // MARK: Without tracing

    @Test("without a closure, no clock is read for a trace, and the ledger is the same")
    func noTraceReadsNoClock() throws {
        func run(_ onTrace: (@Sendable (EventTrace) -> Void)?) throws -> (readings: Int, ledger: Ledger) {
            let time = CountedTime()
            let holder = Holder("Held", insertingBefore: "Cause")
            let pipeline = try Pipeline(environment: PipelineEnvironment(time: time), onTrace: onTrace) {
                holder
                Filter { $0.name != "Unwanted" }
                Route("one", Filter { $0.name != "Cause" })
                Route("two", in: MemoryStore(capacity: 2))
            }
            pipeline.pauseDelivery()
            for name in ["E", "Cause", "Unwanted", "Held", "", "E", "Held"] { pipeline.track(name) }
            let held = holder.take()
            holder.context.forward(held[0])
            holder.context.drop(held[1], because: .expired)
            return (time.readings, pipeline.ledger)
        }
        let plain = try run(nil)
        let traced = try run(traces.record)
        #expect(plain.readings == 0)
        #expect(traced.readings > 0 && traces.traces.count == 10)
        #expect(plain.ledger == traced.ledger)
    }
}
