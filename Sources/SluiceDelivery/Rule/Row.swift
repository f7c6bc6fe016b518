/// The failures since the last acceptance.
struct Row: Sendable {
    /// The number of failures. Those of controls are not counted.
    private(set) var count = 0
    /// The first and the last ones, with the events that each can blame, in groups.
    private var failures: [(groups: [[EventKey]], failure: Answer.Failure)] = []
    /// Whether the route has waited since the last failure.
    var hasWaited = false

    private static let maximumKept = 8
    /// So many failures in a row are the receiver's fault.
    private static let outage = 12
    /// The failures of the longest row that always has witnesses. The probe after a bad event can fail by chance: with 1, a receiver
    /// that often fails would get the same bad part again and again.
    private static let short = 2

    var isOutage: Bool { count >= Self.outage }
    var last: Answer.Failure? { failures.last?.failure }
    /// The events that the last failure can blame.
    var lastEvents: Set<EventKey> { Set((failures.last?.groups ?? []).joined()) }
    /// The number of failures, if all of them are refusals. Refusals after another failure can be the same outage.
    var refusals: Int { failures.allSatisfy { $0.failure.kind == .refused } ? count : 0 }

    /// Whether nothing speaks against the receiver: each failure has one event left to blame, and at most one of these events is
    /// new.
    func isClear(_ blame: Blame) -> Bool {
        let groups = failures.flatMap(\.groups)
        let new = Set(groups.compactMap(\.first).filter { !blame.isBlamed($0) })
        return groups.allSatisfy { $0.count == 1 } && new.count <= 1
    }

    /// Adds a failure. A long row forgets one between the first and the last one.
    ///
    /// A control's failure says little about the receiver. If it were counted, rows would be too long for witnesses.
    mutating func add(_ groups: [[EventKey]], _ failure: Answer.Failure, _ blame: Blame, isControl: Bool) {
        (count, hasWaited) = (isControl ? count : count + 1, false)
        if failures.count == Self.maximumKept {
            let repeated = failures.indices.first { index in
                failures[..<index].contains { $0.groups == failures[index].groups }
            }
            let known = failures.indices.dropFirst().first { failures[$0].groups.joined().allSatisfy(blame.isBlamed) }
            failures.remove(at: repeated ?? known ?? Self.maximumKept / 2)
        }
        failures.append((groups, failure))
    }

    /// Takes out events that are accepted, guilty or erased. A group that is empty in the end was chance, if its events were
    /// accepted.
    mutating func leave(_ keys: [EventKey], isAccepted: Bool) {
        if failures.isEmpty { return }
        let gone = Set(keys)
        for index in failures.indices {
            failures[index].groups = failures[index].groups.compactMap { group in
                let left = group.filter { !gone.contains($0) }
                return isAccepted || left.count == group.count ? left : nil
            }
        }
    }

    /// The groups of events that an acceptance judges, each with its failure, and whether that has witnesses. In a short or clear
    /// row, the acceptances before and after the row are the witnesses of one failure of each event.
    func judged(_ blame: Blame) -> [(group: [EventKey], failure: Answer.Failure, hasWitnesses: Bool)] {
        let hasWitnesses = count <= Self.short || isClear(blame)
        var judged = Set<EventKey>()
        return failures.flatMap { groups, failure in
            groups.map { group in
                (group, failure, hasWitnesses && group.first.map { judged.insert($0).inserted } ?? false)
            }
        }
    }
}
