internal import SluiceLibC

/// Decides whether a failure is the receiver's fault or an event's, and which part is next. This is a value without clocks,
/// stores and random numbers of its own.
///
/// A failure between two acceptances blames its events. As some of them are accepted, the blame falls on the rest. If all of
/// them are accepted, the failure was chance. Less blamed events go first, and an event with enough blame of its own is guilty:
/// it becomes a dead letter. While the receiver accepts nothing, no event is blamed.
///
/// Call ``offer(takeable:maximumInFlight:limit:at:random:)`` for the next step, and ``apply(_:to:at:random:)`` with each answer.
struct DeliveryRule: Sendable {
    /// The next step.
    enum Offer: Sendable {
        case send(Part)
        /// Take another batch from the store, and ask again.
        case take
        /// Nothing can be sent before this time, or, if it is nil, before something changes.
        case wait(until: Duration?)
    }

    /// A consequence of an answer for the store.
    enum Action: Sendable {
        /// Keep these events of a batch as dead letters.
        case reject([Refused], Batch.ID)
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

    /// An event that becomes a dead letter.
    struct Refused: Sendable {
        let line: EventLine
        let place: Int
        let reason: String
        let status: Int?
        let response: ResponseText
    }

    /// A failure since the last acceptance.
    private struct Failed: Sendable {
        /// The events that it can blame, in groups.
        var groups: [[EventKey]]
        let failure: Answer.Failure
    }

    /// A former failure whose events are not all accepted yet.
    private struct Blame: Sendable {
        /// Events that are not accepted. The failure is the fault of one of them, or of none.
        var left: Int
        /// The acceptances directly before and after it: 0, 1 or 2.
        let witnesses: Int
        let failure: Answer.Failure
    }

    /// The knowledge about one event.
    private struct Mark: Sendable {
        /// The failures that it was in, by number.
        var blames: [Int] = []
        /// How often it failed alone.
        var tries = 0
        /// When it can be sent next.
        var due = DeliveryRule.past
        /// Whether the receiver has named that time.
        var isNamed = false
    }

    private let policy: DeliveryPolicy
    /// A search takes no other batch while it has so many bytes to send.
    private let maximumSearch: Int
    /// The batches that the store has handed out, in the order of taking.
    private(set) var open: [OpenBatch] = []
    private var marks: [EventKey: Mark] = [:]
    private var blames: [Int: Blame] = [:]
    private var failures = 0
    /// The number of failures since the last acceptance.
    private(set) var row = 0
    private var failed: [Failed] = []
    /// The length of the next pause, as the exponent of its growth.
    private var exponent = 0.0
    /// The failures that were chance, and all answers that are no event's fault. Both fade.
    private var chances = (failures: 0.0, all: 0.0)
    private var probeEvents = 1
    /// No request before the end of the pause. If the receiver has named it, nothing ends it early.
    private var pause = (end: DeliveryRule.past, isNamed: false)
    /// Pauses that the network has ended since the last acceptance.
    private var networkRetries = 0
    /// Whether the store could not return a batch since the last answer. Open events are sent before it is asked again.
    private var isStoreFailing = false
    /// Events without a final verdict in all open batches.
    private(set) var waiting = 0

    /// Before every time of a clock, which can be negative.
    private static let past = Duration.seconds(-1 << 40)
    private static let rowLength = 8
    /// If the batches whose events are all set aside have more bytes, no answer protects an event.
    private static let maximumSetAside = 1 << 20
    private static let maximumProbe = 512
    private static let maximumNetworkRetries = 3
    /// A receiver can't delay a route for longer. Otherwise a wrong header could stop it.
    private static let maximumRetryAfter = Duration.seconds(3_600)
    /// An event is guilty if all its failures are chance with a lower probability.
    private static let guilt = 0.00001
    /// A receiver that fails less often is well: a failure counts whole.
    private static let wellChance = 0.05
    private static let growth = 1.3
    /// A longer outage needs no more acceptances after it.
    private static let maximumExponent = 40.0
    /// An acceptance takes back this many steps of growth. More would let all clients of a recovering receiver come together.
    private static let earned = 4.0
    /// Events are sent together while they have less blame.
    private static let sharedBlame = 0.5

    /// `capacity` is the number of bytes that the store keeps. Good events are found behind many bad ones, but the store can't
    /// evict what a search has taken.
    init(_ policy: DeliveryPolicy, capacity: Int = .max) {
        self.policy = policy
        maximumSearch = min(8 << 20, capacity / 2)
    }

    /// The probability that the receiver fails whatever it gets.
    private var chance: Double { (chances.failures + 0.5) / (chances.all + 10) }

    /// How much a failure with no, one and two witnesses counts: with a receiver that refuses four of five requests, a
    /// thirteenth. One witness says little, and nothing unless the receiver is well.
    private var weights = [0.0, 0.0, 1.0]

    private mutating func weigh() {
        let whole = min(1, log(chance) / log(Self.wellChance))
        weights = [0, whole * max(0, 1 - 2 * chance / Self.wellChance) / 2, whole]
    }

    // MARK: Batches

    /// Adds a batch that the store has handed out.
    mutating func took(_ batch: Batch, size: BatchSize) {
        isStoreFailing = false
        open.append(OpenBatch(batch, size: size))
        waiting += batch.events.count
    }

    /// Forgets a batch that the store has removed or no longer has.
    ///
    /// - Returns: the number of its events without a final verdict.
    @discardableResult
    mutating func remove(_ id: Batch.ID) -> Int {
        guard let index = index(of: id) else { return 0 }
        let count = open[index].rest.count
        resolve(open[index].rest, in: index, as: .gone)
        open.remove(at: index)
        return count
    }

    /// Takes events out of an open batch that the host has erased.
    mutating func erase(_ places: [Int], of id: Batch.ID) {
        if let index = index(of: id) { resolve(places, in: index, as: .gone) }
    }

    func batch(_ id: Batch.ID) -> OpenBatch? { index(of: id).map { open[$0] } }

    /// Takes back a part that was not sent. After an answer, it ends the use of the batches that the store has changed.
    mutating func settled(_ part: Part, _ actions: [Action] = []) {
        for case .remove(let id) in actions { remove(id) }
        let used = Set(actions.map(\.batch) + [part.batch.id])
        for index in open.indices where used.contains(open[index].id) { open[index].isInFlight = false }
    }

    private func index(of id: Batch.ID) -> Int? { open.firstIndex { $0.id == id } }

    /// Events with a final verdict in batches that the store still has.
    var resolved: Int { open.reduce(0) { $0 + $1.batch.events.count - $1.rest.count } }

    /// Whether the last answer was a failure.
    var isInDoubt: Bool { row > 0 }

    /// Whether the route must send as soon as it may, whatever its triggers say: after a failure or a pause.
    var mustRetry: Bool { isInDoubt || pause.end > Self.past }

    /// The last failure; nil after an acceptance.
    var lastFailure: Answer.Failure? { failed.last?.failure }

    /// Whether the receiver accepts events, and others are blamed.
    var isSearching: Bool { blames.values.contains { weights[$0.witnesses] > 0 } }

    /// Whether an event waits that another attempt can help: it is not blamed, or was not sent alone.
    var hasHope: Bool {
        open.contains { batch in
            batch.rest.contains { mark($0, in: batch).map { $0.tries == 0 || blame(of: $0) == 0 } ?? true }
        }
    }

    /// Events that wait while others go: they are blamed, failed alone, or the receiver has named a time for them.
    var setAside: Int {
        if marks.isEmpty { return 0 }
        return open.reduce(0) { sum, batch in
            sum
                + batch.rest.count { place in
                    mark(place, in: batch).map { $0.due > Self.past || blame(of: $0) > 0 } ?? false
                }
        }
    }

    // MARK: Offers

    /// When the last pause ends or ended; nil without one.
    var pauseEnd: Duration? { pause.end > Self.past ? pause.end : nil }

    /// When the pause ends; nil without one.
    func pauseEnd(at now: Duration) -> Duration? { pause.end > now ? pause.end : nil }

    /// Ends the pause and the waits of events, because the host asks for it or there is another network. A time that the
    /// receiver has named stays.
    ///
    /// A network that comes and goes ends few pauses of a receiver that accepts nothing.
    mutating func endWaits(byNetwork isNetwork: Bool = false) {
        if isNetwork {
            guard networkRetries < Self.maximumNetworkRetries else { return }
            if row > 0 { networkRetries += 1 }
        }
        if !pause.isNamed { pause.end = Self.past }
        for (key, mark) in marks where !mark.isNamed { marks[key]?.due = Self.past }
    }

    /// Decides the next step.
    ///
    /// - Parameters:
    ///   - takeable: the events that can be taken from the store now.
    ///   - maximumInFlight: the parts that may be on their way at the same time.
    ///   - limit: returns the size of the next part of a batch with this size.
    ///   - now: the time.
    ///   - random: returns random bits.
    /// - Returns: the next step. A part that is offered is on its way until ``settled(_:_:)``.
    mutating func offer(
        takeable: Int, maximumInFlight: Int = 1, limit: (BatchSize) -> BatchSize, at now: Duration, random: () -> UInt64
    ) -> Offer {
        if open.isEmpty, takeable <= 0 { (marks, blames) = ([:], [:]) }
        let inFlight = open.count(where: \.isInFlight)
        // Only one request at a time shows whose fault a failure is.
        let isCalm = row == 0 && marks.isEmpty
        if inFlight >= (isCalm ? maximumInFlight : 1) { return .wait(until: nil) }
        if let end = pauseEnd(at: now) {
            // All that is left can have times of its own.
            return .wait(until: takeable > 0 || hasDue(at: end) ? end : nextDue(after: end))
        }
        let offer = row == 0 ? next(takeable > 0, limit, now) : answerDoubt(takeable > 0, limit, now, random)
        if case .send(let part) = offer, let index = index(of: part.batch.id) { open[index].isInFlight = true }
        return offer
    }

    /// The receiver has accepted the last part: the next events in order, and in turn some that are blamed.
    private func next(_ canTake: Bool, _ limit: (BatchSize) -> BatchSize, _ now: Duration) -> Offer {
        let isTurn = Int(chances.all) % 2 == 0
        let blamed = isTurn || !canTake ? leastBlamed(limit, now) : nil
        if isTurn, let blamed { return .send(blamed) }
        if let part = wholePart(limit, now) { return .send(part) }
        if canTake { return .take }
        return blamed.map { .send($0) } ?? .wait(until: nextDue(after: now))
    }

    /// The last part failed: a few other events show whether the receiver is well.
    private func answerDoubt(
        _ canTake: Bool, _ limit: (BatchSize) -> BatchSize, _ now: Duration, _ random: () -> UInt64
    ) -> Offer {
        // Bad events often stand side by side, so the probe jumps over some batches, and further after more failures.
        let skip = 1 << ((row - 1) % min(4 + row / 4, 10))
        let last = Set((failed.last?.groups ?? []).joined())
        let others = candidates { isFree($0, at: now) && !last.contains($0) }
        let ahead = candidates { isFree($0, at: now) }.reduce(0) { $0 + open[$1.batch].bytes }
        if canTake, !isStoreFailing, others.count < skip, others.isEmpty || ahead < maximumSearch { return .take }
        let whole = wholePart(limit, now)
        if let whole, fraction(random()) <= max(row > 1 ? 0.25 : 0, chance) { return .send(whole) }
        let part = probe(others, skip, last, limit, now, random) ?? leastTried(now) ?? whole
        if let part { return .send(part) }
        return canTake ? .take : .wait(until: nextDue(after: now))
    }

    /// The next events that are not set aside.
    private func wholePart(_ limit: (BatchSize) -> BatchSize, _ now: Duration) -> Part? {
        for batch in open where !batch.isInFlight && !batch.rest.isEmpty {
            let free = marks.isEmpty ? batch.rest : batch.rest.filter { isFree(batch.key($0), at: now) }
            if !free.isEmpty { return Part(batch, batch.prefix(free, limit(batch.size))) }
        }
        return nil
    }

    /// The least blamed event, with the next ones of its batch while their blame is small.
    private func leastBlamed(_ limit: (BatchSize) -> BatchSize, _ now: Duration) -> Part? {
        if marks.isEmpty { return nil }
        func blame(_ place: Int, _ batch: OpenBatch) -> Double? {
            guard let mark = marks[batch.key(place)], mark.due <= now else { return nil }
            let blame = self.blame(of: mark)
            return blame > 0 ? blame : nil
        }
        var least: (blame: Double, batch: Int, index: Int)?
        for (number, batch) in open.enumerated() where !batch.isInFlight {
            for (index, place) in batch.rest.enumerated() {
                guard let blame = blame(place, batch), blame < (least?.blame ?? .infinity) - 1e-12 else { continue }
                least = (blame, number, index)
            }
        }
        guard let least else { return nil }
        let batch = open[least.batch]
        var (places, sum) = ([batch.rest[least.index]], least.blame)
        for place in batch.rest[(least.index + 1)...] {
            guard let blame = blame(place, batch) else { continue }
            sum += blame
            if sum > Self.sharedBlame { break }
            places.append(place)
        }
        return Part(batch, batch.prefix(places, limit(batch.size)))
    }

    private func probe(
        _ others: [(batch: Int, places: [Int])], _ skip: Int, _ last: Set<EventKey>,
        _ limit: (BatchSize) -> BatchSize, _ now: Duration, _ random: () -> UInt64
    ) -> Part? {
        // Each event is asked alone once before any is asked twice, and each batch as well.
        var found = others.compactMap { number, places in
            let places = places.filter { mark($0, in: open[number])?.tries ?? 0 == 0 }
            return places.isEmpty ? nil : (batch: number, places: places)
        }
        let unasked = found.filter { number, _ in
            open[number].rest.allSatisfy { mark($0, in: open[number])?.tries ?? 0 == 0 }
        }
        if !unasked.isEmpty { found = unasked }
        var (most, isLast) = (probeEvents, false)
        if found.isEmpty {
            if let part = untried(except: last, random) { return part }
            if last.count < 2 { return nil }
            found = candidates { last.contains($0) && marks[$0]?.tries ?? 0 == 0 }
            most = min(most, max(1, (found.first?.places.count ?? 0) / 2))
            // The newest events of the only batch are not those which earlier processes could not send.
            isLast = row == 1 && chances.all == 0
        }
        guard !found.isEmpty else { return nil }
        let (number, places) = found[min(skip, found.count) - 1]
        let batch = open[number]
        let count = min(most, places.count, limit(batch.size).events)
        let first = isLast ? places.count - count : pick(places.count - count + 1, random)
        return Part(batch, batch.prefix(Array(places[first..<first + count]), limit(batch.size)))
    }

    /// An event that was never sent alone.
    private func untried(except last: Set<EventKey>, _ random: () -> UInt64) -> Part? {
        let found = candidates { key in
            !last.contains(key) && marks[key].map { $0.tries == 0 && $0.due == Self.past } ?? true
        }
        let count = found.reduce(0) { $0 + $1.places.count }
        if count == 0 { return nil }
        // The newest one in half of the cases. Earlier processes may have failed to send the old ones.
        var index = min(count - 1, pick(2 * count, random))
        for (number, places) in found {
            if index < places.count { return Part(open[number], [places[index]]) }
            index -= places.count
        }
        return nil
    }

    /// The event that was sent alone least often.
    private func leastTried(_ now: Duration) -> Part? {
        var least: (tries: Int, due: Duration, batch: Int, place: Int)?
        for (number, batch) in open.enumerated() where !batch.isInFlight {
            for place in batch.rest {
                let mark = mark(place, in: batch) ?? Mark()
                if mark.due > now { continue }
                if let least, (least.tries, least.due) <= (mark.tries, mark.due) { continue }
                least = (mark.tries, mark.due, number, place)
            }
        }
        return least.map { Part(open[$0.batch], [$0.place]) }
    }

    /// The events of each open batch that match.
    private func candidates(_ isMatch: (EventKey) -> Bool) -> [(batch: Int, places: [Int])] {
        open.indices.compactMap { number in
            if open[number].isInFlight { return nil }
            let places = open[number].rest.filter { isMatch(open[number].key($0)) }
            return places.isEmpty ? nil : (number, places)
        }
    }

    private func hasDue(at time: Duration) -> Bool {
        open.contains { batch in batch.rest.contains { mark($0, in: batch)?.due ?? Self.past <= time } }
    }

    /// When the next event can be sent that is set aside until a time.
    private func nextDue(after now: Duration) -> Duration? {
        if marks.isEmpty { return nil }
        return open.flatMap { batch in batch.rest.compactMap { marks[batch.key($0)]?.due } }.filter { $0 > now }.min()
    }

    private func mark(_ place: Int, in batch: OpenBatch) -> Mark? {
        marks.isEmpty ? nil : marks[batch.key(place)]
    }

    private func isFree(_ key: EventKey, at now: Duration) -> Bool {
        marks[key].map { $0.due <= now && blame(of: $0) == 0 } ?? true
    }

    private func blame(of mark: Mark) -> Double {
        mark.blames.reduce(0) { sum, number in
            blames[number].map { sum + weights[$0.witnesses] / Double($0.left) } ?? sum
        }
    }

    // MARK: Answers

    /// Applies the receiver's answer to a part.
    ///
    /// - Returns: the actions for the store. Call ``settled(_:_:)`` when it has done them.
    mutating func apply(
        _ answer: Answer, to part: Part, at now: Duration, random: () -> UInt64
    ) -> [Action] {
        isStoreFailing = false
        guard let index = index(of: part.batch.id) else { return [] }
        func places(_ indices: [Int]) -> [Int] {
            indices.count == part.places.count ? part.places : indices.map { part.places[$0] }
        }
        let places = { indices in places(indices) }
        var rejected: [Batch.ID: [Refused]] = [:]
        if !answer.dead.isEmpty {
            rejected[part.batch.id] = answer.dead.map { index, verdict in
                let isSent = verdict.kind != .unsendable
                return Refused(
                    line: part.batch.events[index], place: part.places[index], reason: verdict.reason,
                    status: isSent ? verdict.status ?? answer.status : nil,
                    response: ResponseText(isSent ? verdict.response ?? answer.response.text : nil))
            }
            resolve(places(answer.dead.map(\.index)), in: index, as: .guilty)
        }
        let accepted = places(answer.accepted)
        if !accepted.isEmpty { resolve(accepted, in: index, as: .accepted) }
        // Events with the same time stay together.
        let jitter = answer.later.isEmpty ? .zero : wait(0, .passing, random())
        for (number, after) in answer.later {
            let key = open[index].key(part.places[number])
            var mark = marks[key] ?? Mark()
            (mark.tries, mark.isNamed) = (0, true)
            mark.due = now + jitter + min(after, Self.maximumRetryAfter)
            marks[key] = mark
        }
        if !accepted.isEmpty { self.accepted(accepted.count, &rejected, at: now, random) }
        if let failure = answer.failure {
            open[index].retries += 1
            fail(answer.failed.map { places($0).map(open[index].key) }, failure, at: now, random)
        } else if !accepted.isEmpty {
            open[index].retries = 0
        }
        return actions(rejected, accepted, part.batch.id)
    }

    private mutating func actions(_ rejected: [Batch.ID: [Refused]], _ accepted: [Int], _ id: Batch.ID) -> [Action] {
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

    /// The row of failures ends, and those that have a witness blame their events.
    private mutating func accepted(
        _ count: Int, _ rejected: inout [Batch.ID: [Refused]], at now: Duration, _ random: () -> UInt64
    ) {
        chances.all += 1
        // Nothing in the row speaks against the receiver: it consists of events alone, and at most one of them is new.
        let groups = failed.flatMap(\.groups)
        let new = Set(groups.compactMap(\.first).filter { key in marks[key].map { blame(of: $0) == 0 } ?? true })
        let isClear = row == 1 || groups.allSatisfy { $0.count == 1 } && new.count <= 1
        var (alone, blamed) = (Set<EventKey>(), Set<EventKey>())
        for (index, failed) in failed.enumerated() {
            let isEdge = !isClear && row < 12 && (index == 0 || index == self.failed.count - 1)
            for group in failed.groups {
                guard let first = group.first else {
                    countChance()
                    continue
                }
                let witnesses = isClear && blamed.insert(first).inserted ? 2 : isEdge ? 1 : 0
                failures += 1
                let number = failures
                blames[number] = Blame(left: group.count, witnesses: witnesses, failure: failed.failure)
                for key in group { marks[key, default: Mark()].blames.append(number) }
                guard group.count == 1, witnesses == 2 else { continue }
                failedAlone(first, failed.failure.kind, at: now, random)
                alone.insert(first)
            }
        }
        while chances.all >= 64 { chances = (chances.failures / 2, chances.all / 2) }
        weigh()
        if !alone.isEmpty {
            let isCrowded = isCrowded(at: now)
            let guilty = alone.filter { isGuilty($0, isCrowded: isCrowded) }
            for key in guilty.sorted(by: { $0.place < $1.place }) { reject(key, &rejected) }
        }
        (row, failed, networkRetries) = (0, [], 0)
        if !marks.isEmpty { forgetOutage() }
        if !pause.isNamed || pause.end <= now { pause = (Self.past, false) }
        exponent = max(0, exponent - Self.earned)
        probeEvents = min(Self.maximumProbe, max(probeEvents, 2 * count))
    }

    /// An event that failed only while nothing was accepted is not set aside any more.
    private mutating func forgetOutage() {
        for (key, mark) in marks where mark.tries > 0 && blame(of: mark) == 0 {
            marks[key] = Mark(blames: mark.blames.filter { blames[$0] != nil }, tries: 1)
        }
    }

    private mutating func countChance() {
        chances.failures += 1
        chances.all += 1
    }

    /// Whether events that are set aside take much of the store's room.
    private func isCrowded(at now: Duration) -> Bool {
        let setAside = open.filter { batch in !batch.rest.contains { isFree(batch.key($0), at: now) } }
        return setAside.reduce(0) { $0 + $1.bytes } > Self.maximumSetAside
    }

    /// Whether an event has failed alone too often for chance. Failures of the moment count only if the store is crowded.
    private func isGuilty(_ key: EventKey, isCrowded: Bool) -> Bool {
        let alone = (marks[key]?.blames ?? []).count { number in
            guard let blame = blames[number], blame.left == 1, blame.witnesses == 2 else { return false }
            return blame.failure.kind != .passing || isCrowded
        }
        return alone > 0 && pow(chance, Double(alone)) < Self.guilt
    }

    private mutating func reject(_ key: EventKey, _ rejected: inout [Batch.ID: [Refused]]) {
        guard let index = index(of: key.batch) else { return }
        let blame = marks[key]?.blames.compactMap { blames[$0] }.last { $0.left == 1 }
        rejected[key.batch, default: []].append(
            Refused(
                line: open[index].batch.events[key.place], place: key.place,
                reason: "the receiver accepts others: \(blame?.failure.reason ?? "")",
                status: blame?.failure.status, response: blame?.failure.response ?? ResponseText(nil)))
        resolve([key.place], in: index, as: .guilty)
    }

    private mutating func fail(
        _ groups: [[EventKey]], _ failure: Answer.Failure, at now: Duration, _ random: () -> UInt64
    ) {
        row += 1
        // The first and the last failure of a row can have a witness.
        if failed.count == Self.rowLength { failed.remove(at: Self.rowLength / 2) }
        failed.append(Failed(groups: groups, failure: failure))
        if row > 1 { probeEvents = max(1, probeEvents / 8) }
        // That these fail again says little about a receiver that is well.
        let isBlamed = groups.joined().contains { marks[$0].map { blame(of: $0) > 0 } ?? false }
        // In a search, an event that fails alone for the first time tells something new.
        var isNews = false
        for case let (key?, 1) in groups.map({ ($0.first, $0.count) }) {
            if marks[key]?.tries ?? 0 == 0, isSearching { isNews = true }
            failedAlone(key, failure.kind, at: now, random)
        }
        // After a first failure, a probe follows without a pause, unless the receiver has just recovered. A part that fails
        // during a pause was sent before it.
        guard (row > 1 || exponent > 0 && !isBlamed) && pause.end <= now || failure.after != nil else { return }
        // The receiver's time is the minimum. The random wait keeps clients from coming back together.
        let after = min(max(failure.after ?? .zero, .zero), Self.maximumRetryAfter)
        // Refusals after another failure can be the same outage.
        let refusals = failed.allSatisfy { $0.failure.kind == .refused } ? row : 0
        let end = now + after + wait(exponent, failure.kind, after: refusals, random())
        let isNamed = after > .zero || pause.isNamed && pause.end > now
        pause = (max(pause.end, end), isNamed)
        exponent = min(exponent + (isNews ? 0.1 : 1), Self.maximumExponent)
    }

    /// The store has events that it can't return now.
    mutating func storeFailed(at now: Duration, random: () -> UInt64) {
        let end = now + wait(exponent, .broken, random())
        pause = (max(pause.end, end), pause.isNamed && pause.end > now)
        exponent = min(exponent + 1, Self.maximumExponent)
        isStoreFailing = true
    }

    /// Sets an event aside for a time of its own. The time of a blamed one grows further than an outage's.
    private mutating func failedAlone(
        _ key: EventKey, _ kind: Answer.Failure.Kind, at now: Duration, _ random: () -> UInt64
    ) {
        var mark = marks[key] ?? Mark()
        mark.tries += 1
        mark.isNamed = false
        mark.due =
            now + wait(Double(mark.tries - 1), blame(of: mark) > 0 ? .refused : kind, after: mark.tries, random())
        marks[key] = mark
    }

    // MARK: Events that leave

    private enum Leaving {
        case accepted, guilty, gone
    }

    private mutating func resolve(_ places: [Int], in index: Int, as leaving: Leaving) {
        if !marks.isEmpty || !failed.isEmpty { leave(places.map(open[index].key), as: leaving) }
        open[index].remove(places)
        waiting -= places.count
    }

    private mutating func leave(_ keys: [EventKey], as leaving: Leaving) {
        let gone = failed.isEmpty ? [] : Set(keys)
        for index in failed.indices {
            // A group that is empty in the end was chance, if its events were accepted.
            failed[index].groups = failed[index].groups.compactMap { group in
                let left = group.filter { !gone.contains($0) }
                return left.count == group.count || leaving == .accepted || leaving == .gone && !left.isEmpty
                    ? left : nil
            }
        }
        for key in keys { leave(key, as: leaving) }
    }

    private mutating func leave(_ key: EventKey, as leaving: Leaving) {
        for number in marks.removeValue(forKey: key)?.blames ?? [] {
            guard let left = blames[number]?.left else { continue }
            blames[number]?.left = left - 1
            switch leaving {
            case .accepted where left == 1:
                blames[number] = nil
                countChance()
            // It explains the failure.
            case .guilty: blames[number] = nil
            case .gone where left == 1: blames[number] = nil
            case .accepted, .gone: break
            }
        }
    }

    // MARK: Times

    /// A random wait that grows with `exponent`, and with the receiver's failures that are chance. After many refusals in a
    /// row, it is longer than other waits.
    private func wait(
        _ exponent: Double, _ kind: Answer.Failure.Kind, after failures: Int = 0, _ random: UInt64
    ) -> Duration {
        if let last = policy.backOffSteps.last {
            let step = Int(exponent) < policy.backOffSteps.count ? policy.backOffSteps[Int(exponent)] : last
            return step.lowerBound + (step.upperBound - step.lowerBound) * fraction(random)
        }
        func grown(_ exponent: Double) -> Duration {
            policy.backOff * pow(Self.growth, min(exponent, Self.maximumExponent))
        }
        var longest = policy.maximumBackOff
        if kind == .refused { longest = max(longest, min(longest * 16, grown(Double(failures)))) }
        let limit = min(longest, grown(exponent) * ((1 - Self.wellChance) / (1 - chance)))
        let shortest = kind == .refused ? limit / 2 : limit / 10
        return shortest + (limit - shortest) * fraction(random)
    }

    /// A random index below `count`.
    private func pick(_ count: Int, _ random: () -> UInt64) -> Int { Int(fraction(random()) * Double(count)) }

    private func fraction(_ random: UInt64) -> Double { Double(random >> 11) / Double(1 << 53) }
}
