internal import SluiceLibC

/// The knowledge about single events: which failures they can be at fault for, and when they are sent next.
///
/// A failure is the fault of one of its events, or of none. The fewer of them are left, the more each is blamed.
struct Blame: Sendable {
    /// The knowledge about one event.
    struct Mark: Sendable {
        /// The failures that it was in, by number.
        fileprivate var causes: [Int] = []
        /// How often it failed alone, or was throttled by name.
        var tries = 0
        /// When it can be sent next.
        var due = Duration.past
        /// The time that the receiver has named for it, which nothing ends early.
        var named = Duration.past
        /// The last answer that throttled it by name.
        var throttle: Answer.Failure?
    }

    private var marks: [EventKey: Mark] = [:]
    /// The former failures whose events are not all accepted yet, by number: how many events are left, whether there were
    /// acceptances before and after the failure, and the failure itself.
    private var causes: [Int: (left: Int, hasWitnesses: Bool, failure: Answer.Failure)] = [:]
    private var failures = 0
    /// The failures that were chance, and all answers that are no event's fault. Both fade.
    private var chances = (failures: 0.0, all: 0.0)
    /// How much a failure with witnesses counts: with a receiver that refuses four of five requests, a thirteenth.
    private var weight = 1.0

    /// A receiver that fails less often is well: a failure counts whole.
    static let wellChance = 0.05
    /// An event is guilty if all its failures are chance with a lower probability. The limit is low, because a route sends
    /// many events, and the search always ends with the ones that failed most often.
    private static let guilt = 1e-9
    private static let mostCauses = 256
    private static let mostTries = 12

    // MARK: The receiver

    /// The probability that the receiver fails whatever it gets.
    var chance: Double { (chances.failures + 0.5) / (chances.all + 10) }

    /// Whether the receiver rarely fails by chance.
    var isReceiverWell: Bool { weight == 1 }

    /// Whether no answer was counted.
    var isNew: Bool { chances.all == 0 }

    mutating func countAcceptance() { chances.all += 1 }

    mutating func countChance() { chances = (chances.failures + 1, chances.all + 1) }

    mutating func weigh() {
        while chances.all >= 64 { chances = (chances.failures / 2, chances.all / 2) }
        weight = min(1, log(chance) / log(Self.wellChance))
    }

    // MARK: Events

    /// Whether nothing is known about any event.
    var isEmpty: Bool { marks.isEmpty }

    subscript(key: EventKey) -> Mark { marks.isEmpty ? Mark() : marks[key] ?? Mark() }

    func of(_ mark: Mark) -> Double {
        mark.causes.reduce(0) { sum, number in
            causes[number].map { $0.hasWitnesses ? sum + weight / Double($0.left) : sum } ?? sum
        }
    }

    // Asked for each open event before each request, so it does not add up.
    func isBlamed(_ mark: Mark) -> Bool {
        mark.causes.contains { causes[$0]?.hasWitnesses == true }
    }

    func isBlamed(_ key: EventKey) -> Bool { isBlamed(self[key]) }

    /// Whether an event can be sent with the next ones: it is not blamed, and its time has come.
    func isFree(_ key: EventKey, at now: Duration) -> Bool {
        let mark = self[key]
        return mark.due <= now && !isBlamed(mark)
    }

    /// Whether the receiver accepts events, and others are blamed.
    var isSearching: Bool { causes.values.contains(where: \.hasWitnesses) }

    /// The last failure whose events are not all accepted yet.
    var failure: Answer.Failure? {
        causes.max { $0.key < $1.key }?.value.failure ?? marks.values.lazy.compactMap(\.throttle).first
    }

    /// The events that were throttled so often that they leave if the store is crowded.
    var throttled: [EventKey] { marks.filter { $1.throttle != nil && $1.tries > Self.mostTries }.map(\.key) }

    /// The last failure of an event that has failed alone too often for chance.
    func guilt(of key: EventKey, isCrowded: Bool) -> Answer.Failure? {
        let alone = failuresAlone(self[key], isCrowded: isCrowded)
        if pow(chance, Double(alone.count)) < Self.guilt { return alone.last }
        return isCrowded && self[key].tries > Self.mostTries ? self[key].throttle : nil
    }

    /// Whether an event needs a control: it was the only one left to blame more than once.
    func needsControl(_ mark: Mark) -> Bool { failuresAlone(mark).count > 1 }

    /// The failures for which an event alone is left to blame. Failures of the moment, and those with a time that the receiver
    /// named, count only if the store is crowded.
    private func failuresAlone(_ mark: Mark, isCrowded: Bool = false) -> [Answer.Failure] {
        mark.causes.compactMap { causes[$0] }.filter { left, hasWitnesses, failure in
            left == 1 && hasWitnesses && (isCrowded || failure.kind != .passing && failure.after == nil)
        }.map(\.failure)
    }

    // MARK: Changes

    mutating func change(_ key: EventKey, _ body: (inout Mark) -> Void) { body(&marks[key, default: Mark()]) }

    /// Blames events for a failure. With `mostCauses` failures, an event gets no more of its own: they say nothing new.
    mutating func add(_ keys: [EventKey], _ failure: Answer.Failure, hasWitnesses: Bool) {
        if keys.count == 1, self[keys[0]].causes.count >= Self.mostCauses { return }
        failures += 1
        causes[failures] = (keys.count, hasWitnesses, failure)
        for key in keys { marks[key, default: Mark()].causes.append(failures) }
    }

    /// Ends the waits of events, except for the times that the receiver has named.
    mutating func endWaits() {
        for (key, mark) in marks { marks[key]?.due = mark.named }
    }

    /// An event that is not blamed is not set aside any more: it has failed only while nothing was accepted.
    mutating func forgetOutage(at now: Duration) {
        for (key, mark) in marks where mark.tries > 0 && mark.throttle == nil && mark.named <= now && !isBlamed(mark) {
            marks[key] = Mark(causes: mark.causes.filter { causes[$0] != nil }, tries: 1)
        }
    }

    /// An event is accepted, guilty or erased.
    mutating func leave(_ key: EventKey, isAccepted: Bool) {
        for number in marks.removeValue(forKey: key)?.causes ?? [] {
            guard let left = causes[number]?.left else { continue }
            causes[number]?.left = left - 1
            // A guilty event explains the failure, and an erased one may have been at fault.
            if !isAccepted || left == 1 { causes[number] = nil }
            if isAccepted, left == 1 { countChance() }
        }
    }
}
