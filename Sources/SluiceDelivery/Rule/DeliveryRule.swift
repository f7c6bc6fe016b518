/// Decides whether a failure is the receiver's fault or an event's, and which part is next. This is a value without clocks,
/// stores and random numbers of its own.
///
/// One failure, or two in a row, between acceptances blame their events. As some of them are accepted, the blame falls on the
/// rest. If all of them are accepted, it was chance. Less blamed events go first, and an event with enough blame of its own is guilty:
/// it becomes a dead letter. While the receiver accepts nothing, no event is blamed.
///
/// Call ``offer(takeable:at:random:)`` for the next step, and ``apply(_:to:at:random:)`` with each answer.
struct DeliveryRule: Sendable {
    /// The next step.
    enum Offer: Sendable {
        case send(Part)
        /// Take another batch of this size from the store, and ask again.
        case take(BatchSize)
        /// Nothing can be sent before this time, or, if it is nil, before something changes.
        case wait(until: Duration?)
    }

    /// A consequence of an answer for the store.
    enum Action: Sendable {
        /// Keep these events of a batch as dead letters.
        case reject([Rejected], Batch.ID)
        /// The receiver has these events of a batch. Its rest waits.
        case settle([Int], Batch.ID)
        /// No event of the batch is left.
        case remove(Batch.ID)

        var batch: Batch.ID {
            switch self {
            case .reject(_, let id), .settle(_, let id), .remove(let id): id
            }
        }
    }

    /// What a failure delays.
    typealias Pauses = (route: Pause, setAside: Pause)

    /// An event that becomes a dead letter.
    struct Rejected: Sendable {
        let key: EventKey
        let line: EventLine
        let failure: Answer.Failure
    }

    /// The bytes to read ahead for probes, besides batches whose events are blamed. More is read only when each of these events
    /// has failed alone.
    let maximumAhead: Int
    /// If the batches whose events are all set aside have more bytes, no answer protects an event.
    private let maximumSetAside: Int
    /// The batches that the store has handed out, in the order of taking.
    private(set) var open: [OpenBatch] = []
    private(set) var blame = Blame()
    /// A row that says nothing against the receiver delays only what is set aside: others are sent, and end the row.
    private(set) var pauses: Pauses
    private(set) var sizes: BatchSizes
    let maximumInFlight: Int
    private(set) var row = Row()
    private(set) var probeEvents = 1
    /// Whether the last take failed, and no answer has come since. Open events are sent before the next take.
    private(set) var isStoreFailing = false
    /// Events without a final verdict in all open batches.
    private(set) var waiting = 0

    private static let maximumProbe = 512

    /// `capacity` is the number of bytes that the store keeps. Good events are found behind many bad ones, but the store can't
    /// evict events that were read ahead. `maximum` is the largest batch that the transport takes.
    init(_ policy: DeliveryPolicy, maximum: BatchSize = .unlimited, capacity: Int = .max) {
        pauses = (Pause(policy), Pause(policy))
        sizes = BatchSizes(policy, maximum: maximum)
        maximumInFlight = policy.maximumBatchesInFlight
        maximumAhead = min(8 << 20, capacity / 2)
        maximumSetAside = min(1 << 20, capacity / 10)
    }

    // MARK: Batches

    /// Adds a batch that the store has handed out.
    mutating func took(_ batch: Batch, size: BatchSize = .unlimited) {
        isStoreFailing = false
        open.append(OpenBatch(batch, size: size))
        waiting += batch.events.count
    }

    /// Takes events out of an open batch that the host has erased.
    ///
    /// - Returns: true if the batch has no other events. It is then forgotten, and the store must remove it.
    mutating func erase(_ places: [Int], of id: Batch.ID) -> Bool {
        guard let index = index(of: id) else { return true }
        resolve(places, in: index, isAccepted: false)
        guard open[index].rest.isEmpty else { return false }
        open.remove(at: index)
        return true
    }

    /// Takes back a part that was not sent. After an answer, it ends the use of the batches that the store has changed.
    mutating func settled(_ part: Part, _ actions: [Action] = []) {
        for case .remove(let id) in actions { open.removeAll { $0.id == id } }
        let used = Set(actions.map(\.batch) + [part.batch.id])
        for index in open.indices where used.contains(open[index].id) { open[index].isInFlight = false }
    }

    /// A part of a batch with the first of these places, as many as the receiver takes together.
    func part(of batch: OpenBatch, _ places: [Int]) -> Part {
        Part(batch, batch.prefix(places, sizes.part(of: batch.size)))
    }

    func index(of id: Batch.ID) -> Int? { open.firstIndex { $0.id == id } }

    /// Events with a final verdict in batches that the store still has.
    var resolved: Int { open.reduce(0) { $0 + $1.batch.events.count - $1.rest.count } }

    /// Whether the last answer was a failure.
    var isInDoubt: Bool { row.count > 0 }

    /// Whether the last attempt got no response, in an outage: many have failed, or two, and the receiver has accepted nothing yet.
    var isUnreachable: Bool {
        guard let last = row.last, last.kind == .passing, last.status == nil else { return false }
        return row.isOutage || blame.isNew && row.count > 1
    }

    /// Whether the route must send as soon as it may, whatever its triggers say: after a failure or a pause.
    var mustRetry: Bool { isInDoubt || pauses.route.end > .past }

    /// Whether an event waits that another attempt can help: it is not blamed, or was not sent alone.
    var hasHope: Bool { events.contains { $0.mark.tries == 0 || !blame.isBlamed($0.mark) } }

    /// Events that wait while others go: they are blamed, failed alone, or the receiver has named a time for them.
    var setAside: Int {
        if blame.isEmpty { return 0 }
        return open.reduce(0) { sum, batch in sum + batch.rest.count { !blame.isFree(batch.key($0), at: .past) } }
    }

    // MARK: Offers

    /// When the route's pause ends; nil without one.
    func pauseEnd(at now: Duration) -> Duration? { pauses.route.end > now ? pauses.route.end : nil }

    /// Ends the pause and the waits of events, because the host asks for it or there is another network. A time that the
    /// receiver has named stays.
    ///
    /// A network that comes and goes ends few pauses of a receiver that accepts nothing.
    mutating func endWaits(byNetwork isNetwork: Bool = false) {
        if isNetwork, !pauses.route.countNetwork(isInDoubt: isInDoubt) { return }
        pauses.route.endEarly()
        pauses.setAside.endEarly()
        blame.endWaits()
    }

    /// Decides the next step.
    ///
    /// - Parameters:
    ///   - takeable: the events that can be taken from the store now.
    ///   - now: the time.
    ///   - random: returns random bits.
    /// - Returns: the next step. A part that is offered is on its way until ``settled(_:_:)``.
    mutating func offer(takeable: Int, at now: Duration, random: () -> UInt64) -> Offer {
        let inFlight = open.count(where: \.isInFlight)
        let offer = nextStep(inFlight, takeable: takeable, at: now, random)
        switch offer {
        case .send(let part): if let index = index(of: part.batch.id) { open[index].isInFlight = true }
        case .wait: if inFlight == 0 { row.hasWaited = isInDoubt }
        case .take: break
        }
        return offer
    }

    private func nextStep(_ inFlight: Int, takeable: Int, at now: Duration, _ random: () -> UInt64) -> Offer {
        // Only one request at a time shows whose fault a failure is.
        let isCalm = !isInDoubt && blame.isEmpty
        if inFlight >= (isCalm ? maximumInFlight : 1) { return .wait(until: nil) }
        if let end = pauseEnd(at: now) {
            // All that is left can have times of its own.
            return .wait(until: takeable > 0 ? end : earliest.map { max(end, $0) })
        }
        let take = takeable > 0 ? Offer.take(sizes.next(takeable: takeable)) : nil
        return isInDoubt ? answerDoubt(orTake: take, now, random) : next(orTake: take, now, random)
    }

    // MARK: Answers

    /// Applies the receiver's answer to a part.
    ///
    /// - Returns: the actions for the store. Call ``settled(_:_:)`` when it has done them.
    mutating func apply(_ answer: Answer, to part: Part, at now: Duration, random: () -> UInt64) -> [Action] {
        isStoreFailing = false
        guard let index = index(of: part.batch.id) else { return [] }
        let isBlamed = !blame.isEmpty && part.places.contains { blame.isBlamed(open[index].key($0)) }
        sizes.record(answer, events: part.places.count, isBlamed: isBlamed)
        let places = { (indices: [Int]) in
            indices.count == part.places.count ? part.places : indices.map { part.places[$0] }
        }
        var rejected = answer.dead.map { event, failure in
            Rejected(key: open[index].key(part.places[event]), line: part.batch.events[event], failure: failure)
        }
        if !rejected.isEmpty { resolve(places(answer.dead.map(\.index)), in: index, isAccepted: false) }
        let accepted = places(answer.accepted)
        if !accepted.isEmpty { resolve(accepted, in: index, isAccepted: true) }
        // Events with the same time stay together.
        let bits = answer.throttled.isEmpty ? 0 : random()
        var (unnamed, isNew) = ([EventKey](), false)
        for (number, failure) in answer.throttled {
            let key = open[index].key(part.places[number])
            let mark = blame[key]
            // Some transports give each event of a failed request this verdict.
            if accepted.isEmpty, failure.after == nil, mark.throttle == nil {
                unnamed.append(key)
                continue
            }
            isNew = isNew || mark.tries == 0
            let wait = pauses.route.wait(Double(mark.tries), .passing, chance: blame.chance, bits)
            let due = now + wait + failure.time
            let named = failure.after == nil ? .past : due
            blame.change(key) { ($0.tries, $0.due, $0.named, $0.throttle) = (mark.tries + 1, due, named, failure) }
        }
        if !accepted.isEmpty { rejected += self.accepted(accepted.count, at: now) }
        if answer.failure != nil || !answer.throttled.isEmpty {
            open[index].retries += 1
        } else if !accepted.isEmpty {
            open[index].retries = 0
        }
        if let failure = answer.failure {
            let failed = answer.failed.map { places($0).map(open[index].key) } + (unnamed.isEmpty ? [] : [unnamed])
            // Events that the receiver has named before say nothing new about it.
            if isInDoubt || isNew || !failed.isEmpty {
                fail(failed, failure, besideAccepted: !accepted.isEmpty, at: now, random)
            }
        }
        return actions(Dictionary(grouping: rejected, by: \.key.batch), accepted, part.batch.id)
    }

    private mutating func actions(_ rejected: [Batch.ID: [Rejected]], _ accepted: [Int], _ id: Batch.ID) -> [Action] {
        var actions: [Action] = []
        for (index, batch) in open.enumerated() where batch.id == id || rejected[batch.id] != nil {
            open[index].isInFlight = true
            if let letters = rejected[batch.id] { actions.append(.reject(letters, batch.id)) }
            if batch.rest.isEmpty {
                actions.append(.remove(batch.id))
            } else if batch.id == id, !accepted.isEmpty {
                actions.append(.settle(accepted, id))
            }
        }
        return actions
    }

    /// Ends the row. Each failure with a witness blames its events.
    ///
    /// - Returns: the guilty ones.
    private mutating func accepted(_ count: Int, at now: Duration) -> [Rejected] {
        blame.countAcceptance()
        blame.forgetOutage(at: now)
        var alone: [EventKey] = []
        for (group, failure, hasWitnesses) in row.judged(blame) {
            guard let first = group.first else {
                blame.countChance()
                continue
            }
            blame.add(group, failure, hasWitnesses: hasWitnesses)
            if group.count == 1, hasWitnesses { alone.append(first) }
        }
        blame.weigh()
        alone += blame.throttled
        let isCrowded = !alone.isEmpty && isCrowded(at: now)
        let guilty = alone.sorted { $0.place < $1.place }.compactMap { reject($0, isCrowded: isCrowded) }
        pauses.route.accepted(at: now)
        pauses.setAside.accepted(at: now)
        row = Row()
        probeEvents = min(Self.maximumProbe, max(probeEvents, 2 * count))
        return guilty
    }

    /// Whether events that are set aside take much of the store's room.
    func isCrowded(at now: Duration) -> Bool {
        let setAside = open.filter { batch in
            !batch.rest.isEmpty && !batch.rest.contains { blame.isFree(batch.key($0), at: now) }
        }
        return setAside.reduce(0) { $0 + $1.bytes } > maximumSetAside
    }

    /// Takes a guilty event out of its batch. Nil if it is not guilty.
    private mutating func reject(_ key: EventKey, isCrowded: Bool) -> Rejected? {
        guard let index = index(of: key.batch) else { return nil }
        guard var failure = blame.guilt(of: key, isCrowded: isCrowded) else { return nil }
        failure.reason = "the receiver accepts others: \(failure.reason)"
        resolve([key.place], in: index, isAccepted: false)
        return Rejected(key: key, line: open[index].batch.events[key.place], failure: failure)
    }

    private mutating func fail(
        _ groups: [[EventKey]], _ failure: Answer.Failure, besideAccepted: Bool, at now: Duration,
        _ random: () -> UInt64
    ) {
        let keys = groups.joined()
        let isControl = row.hasWaited && !keys.isEmpty && keys.allSatisfy { blame.needsControl(blame[$0]) }
        row.add(groups, failure, blame, isControl: isControl)
        if row.count > 1 { probeEvents = max(1, probeEvents / 8) }
        // That these fail again says little about a receiver that is well.
        let isBlamed = keys.contains(where: blame.isBlamed)
        for case let (key?, 1) in groups.map({ ($0.first, $0.count) }) {
            failedAlone(key, failure.kind, at: now, random)
        }
        var named = failure.time
        let isExpected = blame.isSearching && blame.isReceiverWell && !row.isOutage
        // A receiver that accepts others names a time for these events only.
        let isOwn = besideAccepted || isExpected && keys.allSatisfy(blame.isBlamed)
        if named > .zero, isOwn, !keys.isEmpty {
            let due = now + named + pauses.route.wait(0, failure.kind, chance: blame.chance, random())
            for key in keys { blame.change(key) { ($0.due, $0.named) = (max($0.due, due), due) } }
            named = .zero
        }
        // After a first failure or a control's, a probe follows without a pause, unless the receiver has just recovered. A part that
        // fails during a pause was sent before it.
        let isDoubtful = (row.count > 1 || pauses.route.hasGrown && !isBlamed) && !isControl
        guard isDoubtful && pauses.route.end <= now || named > .zero else { return }
        let isOfEvents = row.count > 1 && row.isClear(blame) && blame.isReceiverWell && named == .zero
        let which = isOfEvents ? \Pauses.setAside : \.route
        if row.count > 1, !isOfEvents { pauses.route.grow(as: pauses.setAside) }
        pauses[keyPath: which].begin(
            failure.kind, named: named, refusals: row.refusals, isExpected: isExpected,
            chance: blame.chance, at: now, random())
    }

    /// The store has events that it can't return now.
    mutating func storeFailed(at now: Duration, random: () -> UInt64) {
        pauses.route.begin(.broken, chance: blame.chance, at: now, random())
        isStoreFailing = true
    }

    /// Sets an event aside for a time of its own. The time of a blamed one grows further than an outage's.
    private mutating func failedAlone(
        _ key: EventKey, _ kind: Answer.Failure.Kind, at now: Duration, _ random: () -> UInt64
    ) {
        let tries = blame[key].tries + 1
        let kind = blame.isBlamed(key) ? .refused : kind
        let due = now + pauses.route.wait(Double(tries - 1), kind, after: tries, chance: blame.chance, random())
        blame.change(key) { ($0.tries, $0.due, $0.named) = (tries, due, .past) }
    }

    // MARK: Events that leave

    private mutating func resolve(_ places: [Int], in index: Int, isAccepted: Bool) {
        let keys = blame.isEmpty && !isInDoubt ? [] : places.map(open[index].key)
        open[index].rest.remove(places)
        waiting -= places.count
        row.leave(keys, isAccepted: isAccepted)
        for key in keys { blame.leave(key, isAccepted: isAccepted) }
    }
}
