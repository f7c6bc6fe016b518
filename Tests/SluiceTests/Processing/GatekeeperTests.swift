import Sluice
import SluiceTesting
import TestSupport
import Testing

/// Answers for all events, and lets held ones continue when it has another answer.
private final class Door: Gatekeeper {
    let context = PluginContext()
    private let state = Locked<(answer: Disposition, held: [PluginEvent])>((.keep, []))

    func process(_ event: inout Event) -> Disposition { admit(PluginEvent(event, of: context)) }

    func admit(_ event: PluginEvent) -> Disposition {
        state.withLock { state in
            guard state.answer.isHold else { return state.answer }
            state.held.append(event)
            return context.hold(event)
        }
    }

    func answer(_ new: Disposition) {
        let held = state.withLock { state in
            defer { state = (new, []) }
            return state.held
        }
        for event in held { _ = context.forward(event) }
    }
}

/// Stages that also answer for the events of plugins that don't pass them.
@Suite struct GatekeeperTests {
    private let traces = TraceRecorder()
    private let store = RecordingStore()

    /// The way in which a plugin makes an event.
    enum Way: CaseIterable {
        case track, insert, forward
    }

    @Test(
        "an event of a plugin that a closed stage above drops or holds has a trace that ends with that stage",
        arguments: Way.allCases,
        [(false, nil), (true, nil), (false, .expired), (true, .filtered)] as [(Bool, DropReason?)])
    func closedStageIsTraced(way: Way, row: (isInRoute: Bool, reason: DropReason?)) throws {
        let (door, holder) = (Door(), Holder("Held"))
        let pipeline = try Pipeline.with(
            [door], inRoute: row.isInRoute, own: [holder], in: store, onTrace: traces.record)
        pipeline.track("Held")
        let answer = row.reason.map { Disposition.drop($0) } ?? .hold
        door.answer(answer)
        let former = traces.traces.count
        switch way {
        case .track: holder.context.track("E")
        case .insert: holder.context.insert("E", before: Event(id: .make(at: .now), name: "Cause", time: .now))
        case .forward: holder.release()
        }
        try #require(traces.traces.count == former + 1)
        let trace = try #require(traces.traces.last)
        #expect(trace.stages.map(\.name) == ["Door"] && trace.stages.map(\.route) == [row.isInRoute ? "a" : nil])
        #expect(trace.stages.map(\.disposition) == [answer] && !trace.isStored && store.events.isEmpty)
        #expect(trace.disposition == (row.isInRoute ? .keep : answer))
        #expect(trace.routes.map(\.disposition) == (row.isInRoute ? [answer] : []))
        #expect(trace.startsBelow == (way == .track ? nil : "Holder"))
        #expect(pipeline.ledger.isBalanced && pipeline.ledger.dropped.isEmpty && pipeline.ledger.held == 0)
        door.answer(.keep)
        let isDropped = row.reason != nil
        #expect(traces.traces.count == former + (isDropped ? 1 : 2) && store.events.count == (isDropped ? 0 : 1))
        #expect(isDropped || traces.traces.last?.isStored == true && traces.traces.last?.event.id == trace.event.id)
    }
}
