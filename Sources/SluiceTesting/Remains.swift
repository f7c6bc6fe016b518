import Sluice

/// The events that a store must have when it is opened, in the order of delivery, and the events that it must not have.
struct Remains {
    var waiting: [EventLine] = []
    var settled: Set<EventID?> = []

    mutating func add(_ lines: [EventLine]) {
        let all = waiting + lines
        waiting = all.filter { $0.priority == .critical } + all.filter { $0.priority == .normal }
    }

    /// Removes events that are settled or erased.
    mutating func settle(_ events: [EventLine]) {
        let ids = Set(events.map(\.id))
        settled.formUnion(ids)
        waiting.removeAll { ids.contains($0.id) }
    }

    /// Checks events that a store has returned first.
    func check(_ events: [EventLine], areAll: Bool = false) throws(SluiceError) {
        try require(
            !events.contains { settled.contains($0.id) },
            "events that were settled came back when the store was reopened")
        try require(
            Set(events.map(\.id)).count == events.count, "an event was returned twice after the store was reopened")
        let expected = areAll ? waiting : Array(waiting.prefix(events.count))
        try require(
            !areAll || Set(events.map(\.id)) == Set(expected.map(\.id)),
            "the events of an earlier process must be returned: \(events.count) of \(expected.count) came")
        let priorities = Dictionary(waiting.map { ($0.id, $0.priority) }) { first, _ in first }
        try require(
            events.allSatisfy { priorities[$0.id] == $0.priority },
            "priorities were forgotten when the store was reopened")
        try require(
            events == expected,
            "after a reopen, events must be returned byte for byte: critical ones first, and older ones before new ones"
        )
    }
}
