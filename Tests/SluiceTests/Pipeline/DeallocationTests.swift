import Sluice
import SluiceTesting
import TestSupport
import Testing

/// A pipeline that is released without a shutdown releases everything.
@Suite struct DeallocationTests {
    /// Holds the stages of one pipeline weakly.
    struct Stages {
        weak var plugin: Plugin?
        weak var own: Plugin?
        weak var store: WatchedStore?
        weak var transport: ScriptedTransport?

        var areGone: Bool { plugin == nil && own == nil && store == nil && transport == nil }
    }

    /// The state of delivery when the pipeline is released.
    enum Moment: CaseIterable { case idle, waiting, backingOff, sending, paused, flushing }

    private func pipeline(_ moment: Moment, _ time: VirtualTime) async throws -> Stages {
        let plugin = Plugin()
        let own = Plugin()
        let store = WatchedStore()
        let transport = ScriptedTransport(
            then: moment == .backingOff ? .answer(.all(.retry(after: .seconds(60)))) : .hang)
        let pipeline = try Pipeline(environment: Bench.environment(time)) {
            plugin
            Route("one", own, in: store, to: transport)
        }
        if moment != .idle { pipeline.track("Event") }
        switch moment {
        case .idle: break
        case .waiting: await time.waitForSleeper()
        case .backingOff:
            await pipeline.flush()
            await time.waitForSleeper()
        case .sending:
            pipeline.signal(.didEnterBackground)
            await transport.waitForSends(1)
        case .paused:
            pipeline.pauseDelivery()
            await pipeline.flush()
        case .flushing:
            // Only the flush itself keeps the pipeline, until it returns.
            let flush = Task { await pipeline.flush() }
            await transport.waitForSends(1)
            transport.release(.all(.hold(reason: "later")))
            _ = await flush.value
        }
        return Stages(plugin: plugin, own: own, store: store, transport: transport)
    }

    @Test("a released pipeline leaks nothing", arguments: Moment.allCases)
    func releasedPipelineLeaksNothing(moment: Moment) async throws {
        for _ in 0..<50 {
            let time = VirtualTime()
            let stages = try await pipeline(moment, time)
            // The worker's task ends later.
            while !stages.areGone, !Task.isCancelled { await Task.yield() }
            while !time.deadlines.isEmpty, !Task.isCancelled { await Task.yield() }
        }
    }

    @Test("the store is closed exactly once", arguments: [true, false])
    func storeIsClosedOnce(hasShutDown: Bool) async throws {
        let store = WatchedStore()
        var pipeline: Pipeline? = try Pipeline.with(in: store)
        if hasShutDown { await pipeline?.shutdown(timeout: .seconds(600)) }
        #expect(store.isClosed == hasShutDown)
        pipeline = nil
        while !store.isClosed, !Task.isCancelled { await Task.yield() }
        #expect(store.offences.isEmpty)
    }

    /// The last reference may be released during `settle`, on the worker's thread.
    @Test("a store in use is closed as soon as it is no longer in use")
    func storeInUseIsClosedAfterUse() async throws {
        let holder = Locked<Pipeline?>(nil)
        let store = WatchedStore(duringSettle: {
            let last = holder.withLock { pipeline in
                defer { pipeline = nil }
                return pipeline
            }
            _ = consume last
        })
        let transport = ScriptedTransport([.hang])
        try holder.withLock { pipeline in
            pipeline = try Pipeline.with(in: store, to: transport)
            pipeline?.track("Event")
            pipeline?.signal(.didEnterBackground)
        }
        await transport.waitForSends(1)
        transport.release(.all(.accepted))
        while !store.isClosed, !Task.isCancelled { await Task.yield() }
        #expect(store.offences.isEmpty)
        #expect(store.backlog.isEmpty)
    }
}
