/// A receiver's answer: lists of the events of a part, by their indices in it.
///
/// An event is in at most one of the lists. An event in none of them waits as before: the receiver takes it in a request without
/// the others, which it has named, or in a smaller part.
struct Answer: Sendable {
    /// Events that the receiver has, including ``duplicates``.
    var accepted: [Int] = []
    var duplicates = 0
    /// Events that become dead letters without doubt: the format can't send them, or the receiver refused them by name and
    /// judged the others differently.
    var dead: [(index: Int, failure: Failure)] = []
    /// Events that the receiver throttles by name. None of them is at fault.
    var throttled: [(index: Int, failure: Failure)] = []
    /// Events whose attempt failed, in groups: an event that was named is a group by itself.
    var failed: [[Int]] = []
    /// Why the attempt failed; nil if it did not.
    var failure: Failure?
    /// Whether the transport found the part too large and has sent nothing. Smaller parts follow.
    var isOversized = false
    /// See ``Verdicts/status``.
    var status: Int?

    /// An answer other than an acceptance.
    struct Failure: Sendable, Equatable {
        /// Whose fault a failure can be.
        enum Kind: Sendable {
            /// No response, or one that is about the moment: 408, 425, 429, or a request to retry an event that is named.
            case passing
            /// The receiver is in trouble, or an event brings it into trouble: 5xx.
            case broken
            /// The receiver does not want the request: 3xx, 4xx.
            case refused
        }

        let kind: Kind
        var reason: String
        /// The time that the receiver has asked for.
        var after: Duration?
        var status: Int?
        var response = ResponseText(nil)
        /// Whether the receiver found the request too large.
        var isTooLarge = false
        /// The time to wait. A longer one could stop a route because of a wrong header, and one in the past would cause requests
        /// without a pause.
        var time: Duration { min(max(after ?? .zero, .zero), .seconds(3_600)) }
    }
}

extension Answer {
    /// Reads the verdicts for `count` events.
    init(_ verdicts: Verdicts, count: Int) {
        status = verdicts.status
        switch verdicts.kind {
        case .all(let verdict): readWhole(verdict, verdicts, Array(0..<count))
        case .each(let list) where list.count == count: readEach(list, verdicts)
        case .each(let list):
            let counts = "verdicts: \(list.count), events: \(count)"
            let reason = "the transport must return one verdict for each event; \(counts)"
            fail([Array(0..<count)], Failure(kind: .passing, reason: reason))
        }
    }

    private mutating func fail(_ events: [[Int]], _ failure: Failure) { (failed, self.failure) = (events, failure) }

    private mutating func readWhole(_ verdict: Verdict, _ verdicts: Verdicts, _ events: [Int]) {
        switch verdict.kind {
        case .accepted: accepted = events
        case .duplicate: (accepted, duplicates) = (events, events.count)
        case .unsendable: dead += events.map { ($0, Failure(verdict, verdicts)) }
        case .tooLarge where verdicts.status == nil && verdict.status == nil:
            if events.count == 1 { dead.append((events[0], Failure(verdict, verdicts))) } else { isOversized = true }
        case .rejected, .tooLarge, .split, .hold, .retry: fail([events], Failure(verdict, verdicts))
        }
    }

    private mutating func readEach(_ list: [Verdict], _ verdicts: Verdicts) {
        let sent = list.indices.filter { list[$0].kind != .unsendable }
        dead = list.indices.filter { list[$0].kind == .unsendable }.map { ($0, Failure(list[$0], verdicts)) }
        // If all that were sent have the same verdict, it is the answer to the request, unless it is one that names events.
        if let first = sent.first, sent.allSatisfy({ list[$0].kind == list[first].kind }),
            list[first].kind == .tooLarge
                || !dead.isEmpty && ![.rejected, .retry(after: .zero)].contains(list[first].kind)
        {
            return readWhole(list[first], verdicts, sent)
        }
        var (named, others, rest) = ([Int](), [Int](), [Int]())
        for index in sent {
            switch list[index].kind {
            case .accepted, .duplicate: accepted.append(index)
            case .rejected: named.append(index)
            case .retry(.zero?): rest.append(index)
            case .retry:
                let failure = Failure(list[index], verdicts, isNamed: true)
                let isThrottled = failure.after != nil || failure.kind == .passing
                if isThrottled { throttled.append((index, failure)) } else { others.append(index) }
            case .tooLarge, .split, .hold: others.append(index)
            case .unsendable: break
            }
        }
        duplicates = accepted.count { list[$0].kind == .duplicate }
        if !accepted.isEmpty || !rest.isEmpty, !named.isEmpty {
            dead = (dead + named.map { ($0, Failure(list[$0], verdicts)) }).sorted { $0.index < $1.index }
            named = []
        }
        if let index = (others + named).first {
            fail((others.isEmpty ? [] : [others]) + named.map { [$0] }, Failure(list[index], verdicts, isNamed: true))
            failure?.after = others.compactMap { Failure(list[$0], verdicts, isNamed: true).after }.max()
        } else if accepted.isEmpty, dead.isEmpty, let index = throttled.first?.index ?? sent.first {
            // Nothing was accepted, so the receiver can be in trouble. Each event waits for its own time.
            fail(rest.isEmpty ? [] : [rest], Failure(list[index], verdicts, isNamed: true))
            failure?.after = nil
        }
    }
}

extension Answer.Failure {
    fileprivate init(_ verdict: Verdict, _ verdicts: Verdicts, isNamed: Bool = false) {
        // What was not sent has no response.
        status = verdict.kind == .unsendable ? nil : verdict.status ?? verdicts.status
        response = ResponseText(verdict.kind == .unsendable ? nil : verdict.response ?? verdicts.response)
        isTooLarge = verdict.kind == .tooLarge
        // A host prints it, so it is as short as the words, and never blank.
        reason = ResponseText(verdict.reason).cleaned.text ?? "the receiver gave no reason"
        switch verdict.kind {
        case .retry(let after):
            self.after = after
            kind = [nil, 408, 425, 429].contains(isNamed ? verdict.status : status) ? .passing : .broken
        default:
            // A time, even none, shows that no event is at fault. A hold without a response is the transport's own word.
            after = verdict.holdTime ?? (verdict.kind == .hold && status == nil ? .zero : nil)
            kind = .refused
        }
    }
}
