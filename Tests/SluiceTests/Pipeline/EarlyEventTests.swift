import Sluice
import SluiceTesting
import TestSupport
import Testing

/// Events that plugins track before their pipeline is built.
@Suite struct EarlyEventTests {
    /// Tracks when it is told to, and drops events that come before it is prepared.
    private final class Speaker: Processor {
        let context = PluginContext()
        private let isPrepared = Locked(false)
        private let fails: Bool

        init(fails: Bool = false) { self.fails = fails }

        func prepare() throws {
            if fails { throw SluiceError(.invalidArgument, "not today") }
            isPrepared.withLock { $0 = true }
        }

        func process(_ event: inout Event) -> Disposition { isPrepared.withLock(\.self) ? .keep : .drop(.filtered) }

        @discardableResult
        func say(_ name: String) -> Bool { context.track(name) }
    }

    @Test("an early event keeps its id, time, priority and properties, and the closure's changes")
    func earlyEventKeepsItsCall() throws {
        let (speaker, store) = (Speaker(), RecordingStore())
        let before = Timestamp.now
        let early = Locked<Event?>(nil)
        let isStored = speaker.context.track("Early", ["own": 1], priority: .critical) { event in
            event.loginID = "42"
            let copy = event
            early.withLock { $0 = copy }
        }
        #expect(!isStored)
        let after = Timestamp.now
        let time = VirtualTime(wallTime: Timestamp(milliseconds: 7))
        let pipeline = try store.pipeline(in: PipelineEnvironment(time: time), speaker)
        let event = try #require(store.events.first)
        #expect(event == early.withLock { $0 })
        #expect((before...after).contains(event.time))
        #expect(event.priority == .critical && event.properties == ["own": 1] && event.loginID == "42")
        pipeline.track("Later")
        #expect(store.events.map(\.name) == ["Early", "Later"])
        #expect(pipeline.ledger.tracked == 2 && pipeline.ledger.isBalanced)
    }

    @Test("early events of several plugins keep the order of the calls, and pass processors that are prepared")
    func earlyEventsKeepOrder() throws {
        let (speakers, store) = ([Speaker(), Speaker(), Speaker()], RecordingStore())
        for number in 0..<300 { speakers[number * 7 % 3].say("\(number)") }
        let pipeline = try store.pipeline(speakers[0], speakers[1], speakers[2])
        #expect(store.events.map(\.name) == (0..<300).map { "\($0)" })
        #expect(pipeline.ledger.isBalanced)
    }

    @Test("of 1,003 early events of a plugin, three are dropped and counted")
    func earlyEventsAreBounded() async throws {
        let (speaker, other, store) = (Speaker(), Speaker(), RecordingStore())
        for number in 0..<1_003 { speaker.say("\(number)") }
        other.say("Other")
        let said = Locked<[String]>([])
        let pipeline = try Pipeline.with(
            speaker, other, in: store, onDiagnostic: { diagnostic in said.withLock { $0.append("\(diagnostic)") } })
        #expect(store.events.map(\.name) == (0..<1_000).map { "\($0)" } + ["Other"])
        #expect(pipeline.ledger.tracked == 1_004)
        #expect(pipeline.ledger.dropped == [.beforePipeline: 3])
        #expect(
            said.withLock { $0 } == [
                "dropped: events from before the pipeline was built are dropped: 3 (beforePipeline)"
            ])
        #expect(await pipeline.shutdown(timeout: .seconds(600)).isBalanced)
    }

    @Test("early events of a plugin in a route stay there, and are counted there")
    func earlyEventsStayInRoute() async throws {
        let (speaker, stores) = (Speaker(), [RecordingStore(), RecordingStore()])
        for number in 0..<1_001 { speaker.say("\(number)") }
        let pipeline = try Pipeline {
            Route("own", speaker, in: stores[0])
            Route("other", in: stores[1])
        }
        #expect(stores.map(\.events.count) == [1_000, 0])
        #expect(pipeline.ledger.routes.map(\.dropped) == [[.beforePipeline: 1], [:]])
        #expect(await pipeline.shutdown(timeout: .seconds(600)).isBalanced)
    }

    @Test("a build that fails keeps early events for the next one")
    func failedBuildKeepsEvents() throws {
        let (speaker, store) = (Speaker(), RecordingStore())
        speaker.say("A")
        #expect(throws: SluiceError.self) { try RecordingStore().pipeline(speaker, Speaker(fails: true)) }
        speaker.say("B")
        let pipeline = try store.pipeline(speaker)
        #expect(store.events.map(\.name) == ["A", "B"])
        #expect(pipeline.ledger.tracked == 2)
    }

    @Test("an event with an id of its own isn't kept, because its plugin repeats it")
    func ownIDIsNotKept() throws {
        let (speaker, store) = (Speaker(), RecordingStore())
        speaker.context.track("Own") { $0 = Event(name: "Own") }
        let pipeline = try store.pipeline(speaker)
        #expect(store.events.isEmpty && pipeline.ledger.tracked == 0)
    }

    @Test("after the pipeline is gone, events are not kept for another one")
    func laterEventsAreNotKept() throws {
        let (speaker, store) = (Speaker(), RecordingStore())
        do { _ = try RecordingStore().pipeline(speaker) }
        speaker.say("Lost")
        let pipeline = try store.pipeline(speaker)
        speaker.say("A")
        #expect(store.events.map(\.name) == ["A"])
        withExtendedLifetime(pipeline) {}
    }

    @Test("no event of other threads is lost while the pipeline is built")
    func noEventIsLostDuringBuild() async throws {
        for _ in 0..<100 {
            let (speaker, store) = (Speaker(), RecordingStore())
            speaker.say("First")
            let pipeline = try await withThrowingTaskGroup(of: Pipeline?.self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        for number in 0..<50 { speaker.say("\(number)") }
                        return nil
                    }
                }
                group.addTask { try store.pipeline(speaker) }
                var built: Pipeline?
                for try await pipeline in group { built = pipeline ?? built }
                return built
            }
            let ledger = try await #require(pipeline).shutdown(timeout: .seconds(600))
            // Events while it is being prepared are dropped by the speaker itself.
            #expect(ledger.tracked == 101 && ledger.isBalanced)
            #expect(store.events.count + (ledger.dropped[.filtered] ?? 0) == 101)
        }
    }

    /// Tracks an event for each event, against the advice.
    private final class Echo: Processor {
        let context = PluginContext()

        func process(_ event: inout Event) -> Disposition {
            context.track("Echo")
            return .keep
        }
    }

    @Test("a processor that tracks an event for each event ends at the eighth level, with a count and one diagnostic")
    func recursionEnds() async throws {
        let store = RecordingStore()
        let said = Locked<[String]>([])
        let pipeline = try Pipeline.with(
            Echo(), in: store, onDiagnostic: { diagnostic in said.withLock { $0.append("\(diagnostic)") } })
        for _ in 1...2 { pipeline.track("A") }
        #expect(store.events.filter { $0.name == "Echo" }.count == 16)
        #expect(pipeline.ledger.dropped == [.recursion: 2])
        #expect(said.withLock { $0 } == ["dropped: events are dropped: recursion (reported once)"])
        #expect(await pipeline.shutdown(timeout: .seconds(600)).isBalanced)
    }
}
