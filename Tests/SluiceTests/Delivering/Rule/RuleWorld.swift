import SluiceEvents
import SluiceTesting

@testable import SluiceDelivery

/// A store, a receiver, and processes that ask a ``DeliveryRule``, in virtual time. After each step it checks what must
/// always hold, and keeps the first fault.
///
/// Events are numbers from 0. The store joins waiting events to batches, in their order.
final class RuleWorld {
    enum Reply {
        case status(Int, after: Duration? = nil)
        case each([Verdict])
    }

    typealias Receiver = (RuleWorld, [Int]) -> Reply

    /// Where an event is for the store.
    enum Place {
        case waiting, open, delivered, dead, gone
    }

    private struct Flight {
        let part: Part
        let events: [Int]
        let arrival: Duration
    }

    var policy = DeliveryPolicy.standard
    /// The bytes that the store says it keeps.
    var capacity = Int.max
    /// The answer to events that are not bad. By default, the receiver takes them.
    var receiver: Receiver = { _, _ in .status(200) }
    /// The time that the receiver names when it gets a bad event.
    var badAfter: Duration?
    /// Called before each step.
    var host: (RuleWorld) -> Void = { _ in }
    /// The bytes of an event.
    var bytes: (Int) -> Int = { _ in 1 }
    var latency: () -> Duration = { .milliseconds(20) }
    var random: SeededRandom

    private(set) var now = Duration.zero
    private(set) var rule = DeliveryRule(.standard)
    let bad: Set<Int>
    private let badStatus: Int
    private var arrivals: [(time: Duration, count: Int)]

    // The store.
    private(set) var places: [Place] = []
    private var positions: [Int] = []
    private var lastPosition = 0
    private var waiting: ArraySlice<Int> = []
    private var taken: [Batch.ID: [Int]] = [:]
    private var lastBatch: Batch.ID = 0
    private var flights: [Flight] = []
    /// Events of an answer that no process has learned.
    private var unlearned: Set<Int> = []

    // The results.
    private(set) var fault: String?
    /// When the receiver took an event for the first time.
    private(set) var arrived: [Int: Duration] = [:]
    /// The events that the receiver took, in their order.
    private(set) var order: [Int] = []
    private(set) var deadLetters: [(event: Int, letter: DeliveryRule.Rejected)] = []
    /// The times of the answers.
    private(set) var answers: [Duration] = []
    private(set) var requestsUntilLast = 0
    private(set) var flushes = 0
    private(set) var longestChain = 0
    /// The most bytes of open batches.
    private(set) var openBytes = 0
    private var chain = 0
    private var failuresInChain = 0
    private var isParallel = false
    private var chainEnd = Duration.zero
    private var namedTimes: [Int: Duration] = [:]
    private var namedTime = Duration.zero

    init(
        _ count: Int, bad: some Sequence<Int> = [], _ badStatus: Int = 500, seed: Int,
        arrivals: [(time: Duration, count: Int)] = []
    ) {
        (self.bad, self.badStatus, self.arrivals) = (Set(bad), badStatus, arrivals.reversed())
        random = SeededRandom(seed: UInt64(seed))
        append(count)
    }

    func chance(of probability: Double) -> Bool { Double.random(in: 0..<1, using: &random) < probability }

    // MARK: Store

    func append(_ count: Int) {
        for _ in 0..<count {
            lastPosition += 1
            waiting.append(places.count)
            places.append(.waiting)
            positions.append(lastPosition)
        }
    }

    private func take(_ size: BatchSize) {
        var (events, sum) = ([Int](), 0)
        while let event = waiting.first, events.count < size.events {
            sum += bytes(event)
            if sum > size.bytes, !events.isEmpty { break }
            events.append(event)
            places[event] = .open
            waiting.removeFirst()
        }
        guard !events.isEmpty else { return fail("takes from an empty store") }
        lastBatch += 1
        taken[lastBatch] = events
        let lines = events.map { event in
            var line = Array(String(event).utf8)
            line += Array(repeating: 32, count: max(0, bytes(event) - line.count))
            return EventLine(bytes: line[...], priority: .normal)
        }
        rule.took(Batch(id: lastBatch, events: lines), size: size)
    }

    /// Erases events in the store and in open batches, as the host may while nothing is in flight.
    func erase(_ isMatch: (Int) -> Bool) {
        for batch in rule.open {
            guard let events = taken[batch.id] else { continue }
            let erased = batch.rest.filter { isMatch(events[$0]) }
            for place in erased { places[events[place]] = .gone }
            if rule.erase(erased, of: batch.id) != (erased.count == batch.rest.count) {
                fail("an erasure keeps an empty batch, or forgets events")
            }
        }
        for event in waiting where isMatch(event) { places[event] = .gone }
        waiting.removeAll(where: isMatch)
    }

    /// Removes the oldest open batch, as a deletion does.
    func removeOldest() {
        guard let batch = rule.open.first, let events = taken.removeValue(forKey: batch.id) else { return }
        for place in batch.rest { places[events[place]] = .gone }
        _ = rule.erase(batch.rest, of: batch.id)
    }

    private func perform(_ actions: [DeliveryRule.Action], accepted: Set<Int>) {
        for action in actions {
            switch action {
            case .reject(let letters, let id):
                for letter in letters {
                    guard let event = taken[id]?[letter.key.place], places[event] == .open else {
                        fail("a dead letter is not an open event")
                        continue
                    }
                    places[event] = .dead
                    deadLetters.append((event, letter))
                }
            case .settle(let settled, let id):
                for event in settled.compactMap({ taken[id]?[$0] }) {
                    if !accepted.contains(event) { fail("settles an event that was not accepted") }
                    places[event] = .delivered
                }
            case .remove(let id):
                for event in taken.removeValue(forKey: id) ?? [] where places[event] == .open {
                    if !accepted.contains(event) { fail("an event is lost with its batch") }
                    places[event] = .delivered
                }
            }
        }
    }

    // MARK: Processes

    /// Runs a process until it has nothing to do, `end` comes, it has sent `most` requests, or its shutdown ends. A
    /// killed process doesn't learn its last answer.
    func run(
        until end: Duration = .seconds(1e9), most: Int = .max, isKilled: Bool = false, shutdown: Duration? = nil,
        isShort: Bool = false, flushEvery: Duration? = nil, inFlight: Int = 1,
        isDone: (RuleWorld) -> Bool = { _ in false }
    ) {
        policy.maximumBatchesInFlight = inFlight
        rule = DeliveryRule(policy, capacity: capacity)
        (chain, failuresInChain, isParallel) = (0, 0, inFlight > 1)
        let deadline = shutdown.map { now + $0 }
        var (sent, nextFlush, idle) = (0, flushEvery.map { now + $0 }, 0)
        while fault == nil, now < end {
            while let next = arrivals.last, next.time <= now { append(arrivals.removeLast().count) }
            if flights.isEmpty {
                host(self)
                if arrivals.isEmpty, isDone(self) { break }
            }
            if let time = nextFlush, let flushEvery, now >= time {
                rule.endWaits()
                flushes += 1
                failuresInChain = 0
                nextFlush = time + flushEvery
            }
            if let deadline, now >= deadline { break }
            var next: Duration?
            if sent < most {
                let offer = rule.offer(takeable: waiting.count, at: now, random: { self.random.next() })
                idle += 1
                if idle > 100_000 { fail("takes without an end") }
                switch offer {
                case .send(let part):
                    if requests > 100_000 { fail("sends without an end") }
                    (sent, idle) = (sent + 1, 0)
                    send(part)
                    continue
                case .take(let size):
                    take(size)
                    continue
                case .wait(let time):
                    if let time, time <= now { fail("waits until \(time) at \(now)") }
                    next = time
                }
            }
            if flights.isEmpty {
                if let deadline {
                    let hasHope = !waiting.isEmpty || rule.hasHope
                    guard hasHope, !isShort || !rule.isUnreachable, let next, next < deadline else { break }
                }
                if sent >= most { break }
                if next == nil, rule.waiting + waiting.count > 0 { fail("sleeps while events wait") }
                if next == nil, arrivals.isEmpty, rule.waiting == 0 { break }
                next = [next, arrivals.last?.time, nextFlush].compactMap(\.self).min()
            } else {
                next = [flights.map(\.arrival).min(), next, arrivals.last?.time, nextFlush].compactMap(\.self).min()
            }
            guard let next else { break }
            idle = 0
            now = min(end, max(now, next))
            guard let index = flights.firstIndex(where: { $0.arrival <= now }) else { continue }
            land(flights.remove(at: index), isLearned: !(isKilled && sent == most && flights.isEmpty))
            check()
        }
        // What waits goes back to the store.
        flights = []
        taken = [:]
        for event in places.indices where places[event] == .open { places[event] = .waiting }
        waiting = places.indices.filter { places[$0] == .waiting }.sorted { positions[$0] < positions[$1] }[...]
    }

    private func send(_ part: Part) {
        guard let numbers = taken[part.batch.id] else { return fail("sends a part of an unknown batch") }
        let events = part.places.map { numbers[$0] }
        if events.isEmpty { fail("sends an empty part") }
        if zip(part.places, part.places.dropFirst()).contains(where: { $0 >= $1 }) { fail("sends out of its order") }
        for (event, line) in zip(events, part.batch.events) {
            if places[event] != .open { fail("sends event \(event), which is resolved") }
            if arrived[event] != nil, !unlearned.contains(event) { fail("sends event \(event) again") }
            if namedTimes[event, default: .zero] > now { fail("sends event \(event) before its time") }
            if !line.bytes.starts(with: String(event).utf8) { fail("sends another event than it says") }
        }
        if now < namedTime { fail("sends before the time that the receiver has named") }
        if !flights.isEmpty {
            if flights.contains(where: { !Set($0.events).isDisjoint(with: events) }) {
                fail("sends an event twice at a time")
            }
            if rule.row.count > 0 || rule.setAside > 0 { fail("sends two parts in doubt") }
        }
        if now > chainEnd { (chain, failuresInChain) = (0, 0) }
        chain += 1
        longestChain = max(longestChain, chain)
        flights.append(Flight(part: part, events: events, arrival: now + latency()))
    }

    private func land(_ flight: Flight, isLearned: Bool) {
        let (part, events) = (flight.part, flight.events)
        var reply = receiver(self, events)
        if case .status(200, _) = reply, events.contains(where: bad.contains) {
            reply = .status(badStatus, after: badAfter)
        }
        var list = [Verdict]()
        let verdicts: Verdicts
        switch reply {
        case .each(let each): (verdicts, list) = (.each(each, status: 200), each)
        case .status(let status, let after):
            verdicts = Self.verdicts(status, after: after)
            if status == 200 { list = events.map { _ in .accepted } }
            let isBlamed = part.places.allSatisfy { rule.blame.isBlamed(EventKey(batch: part.batch.id, place: $0)) }
            if let after, rule.blame.isSearching, isBlamed || events.contains(where: bad.contains) {
                // Others are accepted, so it is the time of these.
                for event in events { namedTimes[event] = now + min(after, .seconds(3_600)) }
            } else if let after {
                namedTime = max(namedTime, now + min(after, .seconds(3_600)))
            }
        }
        answers.append(now)
        chainEnd = now
        let accepted = zip(events, list).filter { $1.isAccepted }.map(\.0)
        for event in accepted where arrived[event] == nil {
            arrived[event] = now
            order.append(event)
            if !bad.contains(event) { requestsUntilLast = requests }
        }
        for (event, verdict) in zip(events, list) {
            if case .retry(let after?) = verdict.kind, after > .zero { namedTimes[event] = now + after }
        }
        failuresInChain = accepted.isEmpty ? failuresInChain + 1 : 0
        // A blamed event, twice, and two others.
        if failuresInChain > 4, !isParallel, list.isEmpty { fail("five failures without a wait") }
        guard isLearned else { return unlearned.formUnion(accepted) }
        unlearned.subtract(accepted)
        let answer = Answer(verdicts, count: events.count)
        let actions = rule.apply(answer, to: part, at: now, random: { self.random.next() })
        if actions.contains(where: { action in !rule.open.contains { $0.id == action.batch && $0.isInFlight } }) {
            fail("a batch can be sent before the store has learned its result")
        }
        perform(actions, accepted: Set(accepted))
        rule.settled(part, actions)
    }

    static func verdicts(_ status: Int, after: Duration? = nil) -> Verdicts {
        let reason = "HTTP \(status)"
        return switch status {
        case 200: .all(.accepted, status: status)
        case 0: .all(.retry(after: after, reason: "no response"))
        case 408, 425, 429, 500...: .all(.retry(after: after, reason: reason), status: status)
        case 413: .all(.tooLarge(reason: reason), status: status)
        case 400, 422: .all(.split(reason: reason), status: status)
        default: .all(.hold(reason: reason, after: after), status: status)
        }
    }

    // MARK: Checks

    private func check() {
        let rest = rule.open.reduce(0) { $0 + $1.rest.count }
        if rule.waiting != rest { fail("counts \(rule.waiting) waiting events instead of \(rest)") }
        let resolved = rule.open.reduce(0) { $0 + $1.batch.events.count } - rest
        if rule.resolved != resolved { fail("counts \(rule.resolved) resolved events instead of \(resolved)") }
        openBytes = max(openBytes, rule.open.reduce(0) { $0 + $1.bytes })
        if rule.setAside > rest { fail("sets more events aside than wait") }
        for batch in rule.open {
            guard let events = taken[batch.id] else { return fail("has a batch that the store doesn't know") }
            if batch.rest.isEmpty { fail("keeps an empty batch") }
            if batch.rest != events.indices.filter({ places[events[$0]] == .open }) {
                fail("the rest of a batch differs from the store's")
            }
        }
    }

    private func fail(_ fault: String) { if self.fault == nil { self.fault = "\(fault) (request \(requests))" } }
}
