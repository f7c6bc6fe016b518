/// The choice of the next part. Nothing here changes the rule.
extension DeliveryRule {
    /// Events are sent together while they have less blame.
    private static let sharedBlame = 0.5

    /// From so many failures alone on, an event is its own probe. With fewer, other events are the better probe.
    private static let ownProbe = 5

    /// How often the most blamed event goes before others after a wait.
    private static let controlShare = 0.3

    /// The receiver has accepted the last part: the next events in order, or at random some that are blamed. With a fixed
    /// turn, a balancer could give all requests with blamed events to the same broken server.
    func next(orTake take: Offer?, _ now: Duration, _ random: () -> UInt64) -> Offer {
        let turn = blame.isEmpty ? 1 : random().fraction
        // The least blamed events are the most likely to be good, and show soon that a failure was chance. But while others come,
        // the most blamed ones would wait without end, and fill the store.
        let isTurnOfMostBlamed = turn < 0.25 && blame.isReceiverWell && isCrowded(at: now)
        if isTurnOfMostBlamed, let part = mostBlamed(now, from: \.due) { return .send(part) }
        let blamed = turn < 0.5 || take == nil ? blamedPart(now) : nil
        if turn < 0.5, let blamed { return .send(blamed) }
        if let part = wholePart(now) { return .send(part) }
        return take ?? blamed.map { .send($0) } ?? .wait(until: earliest)
    }

    /// The last part failed: a few other events show whether the receiver still accepts any.
    func answerDoubt(orTake take: Offer?, _ now: Duration, _ random: () -> UInt64) -> Offer {
        // Bad events often stand side by side, so the probe jumps over some batches, and further after more failures.
        let skip = 1 << ((row.count - 1) % min(4 + row.count / 4, 10))
        let last = row.lastEvents
        // Behind a balancer, all requests directly after an acceptance can go to a broken server. The next one goes elsewhere.
        if row.count == 1, last.count == 1, let key = last.first, blame.isBlamed(key), let index = index(of: key.batch),
            blame[key].tries >= Self.ownProbe, blame[key].named <= now
        {
            return .send(Part(open[index], [key.place]))
        }
        // Each event is asked alone once before any is asked twice.
        let others = candidates { blame.isFree($0, at: now) && blame[$0].tries == 0 && !last.contains($0) }
        if row.hasWaited, take != nil || !others.isEmpty, random().fraction < Self.controlShare {
            // A receiver that takes one request in two seconds fails after each acceptance, when blamed events are sent. If they
            // never went first, they would look guilty. So this ends even their own waits.
            if let part = mostBlamed(now, from: \.named) { return .send(part) }
        }
        if others.isEmpty, take == nil || isStoreFailing, pauses.setAside.end > now {
            return .wait(until: earliest.map { max(pauses.setAside.end, $0) })
        }
        var ahead: Int { candidates { blame.isFree($0, at: now) }.reduce(0) { $0 + open[$1.batch].bytes } }
        if let take, !isStoreFailing, others.count < skip, others.isEmpty || ahead < maximumAhead { return take }
        var whole: Part? { wholePart(now) ?? blamedPart(now) }
        if random().fraction <= max(row.count > 1 ? 0.25 : 0, blame.chance), let whole { return .send(whole) }
        let part = probe(others, skip, last, now, random) ?? leastTried(now) ?? whole
        return part.map { .send($0) } ?? take ?? .wait(until: earliest)
    }

    /// The next events that are not set aside.
    private func wholePart(_ now: Duration) -> Part? {
        for batch in open where !batch.isInFlight && !batch.rest.isEmpty {
            let free = blame.isEmpty ? batch.rest : batch.rest.filter { blame.isFree(batch.key($0), at: now) }
            if !free.isEmpty { return part(of: batch, free) }
        }
        return nil
    }

    /// The most blamed event that needs a control, of those for which this time is over.
    private func mostBlamed(_ now: Duration, from time: KeyPath<Blame.Mark, Duration>) -> Part? {
        let due = events.lazy.filter {
            $0.mark.throttle == nil && $0.mark[keyPath: time] <= now && blame.needsControl($0.mark)
        }
        let most = due.max { blame.of($0.mark) < blame.of($1.mark) }
        return most.map { Part(open[$0.batch], [$0.key.place]) }
    }

    /// The least blamed event, with the next ones of its batch while their blame is small.
    private func blamedPart(_ now: Duration) -> Part? {
        if blame.isEmpty { return nil }
        func amount(_ mark: Blame.Mark) -> Double { mark.due <= now ? blame.of(mark) : 0 }
        var first: (amount: Double, batch: Int, place: Int)?
        for event in events {
            let amount = amount(event.mark)
            if amount == 0 || amount >= (first?.amount ?? .infinity) - 1e-12 { continue }
            first = (amount, event.batch, event.key.place)
        }
        guard let first else { return nil }
        let batch = open[first.batch]
        var (places, sum) = ([first.place], first.amount)
        for place in batch.rest where place > first.place {
            let amount = amount(blame[batch.key(place)])
            if amount == 0 { continue }
            sum += amount
            if sum > Self.sharedBlame { break }
            places.append(place)
        }
        return part(of: batch, places)
    }

    private func probe(
        _ others: [(batch: Int, places: [Int])], _ skip: Int, _ last: Set<EventKey>, _ now: Duration,
        _ random: () -> UInt64
    ) -> Part? {
        // Each batch is asked once before any is asked twice.
        let unasked = others.filter { number, _ in
            open[number].rest.allSatisfy { blame[open[number].key($0)].tries == 0 }
        }
        var found = unasked.isEmpty ? others : unasked
        var (most, isLast) = (probeEvents, false)
        if found.isEmpty {
            // Events that were never sent alone.
            let untried = events.filter { $0.mark.tries == 0 && $0.mark.due <= now && !last.contains($0.key) }
            if !untried.isEmpty {
                // The newest one in half of the cases. Earlier processes may have failed to send the old ones.
                let event = untried[min(untried.count - 1, pick(2 * untried.count, random))]
                return Part(open[event.batch], [event.key.place])
            }
            if last.count < 2 { return nil }
            found = candidates { last.contains($0) && blame[$0].tries == 0 && blame[$0].due <= now }
            most = min(most, max(1, (found.first?.places.count ?? 0) / 2))
            // Of the only batch, the newest events are the least likely to have failed in earlier processes.
            isLast = row.count == 1 && blame.isNew
        }
        guard !found.isEmpty else { return nil }
        let (number, places) = found[min(skip, found.count) - 1]
        let batch = open[number]
        let count = min(most, places.count, sizes.part(of: batch.size).events)
        let first = isLast ? places.count - count : pick(places.count - count + 1, random)
        return part(of: batch, Array(places[first..<first + count]))
    }

    /// The event that was sent alone least often.
    private func leastTried(_ now: Duration) -> Part? {
        let due = events.lazy.filter { $0.mark.due <= now }
        let least = due.min { ($0.mark.tries, $0.mark.due) < ($1.mark.tries, $1.mark.due) }
        return least.map { Part(open[$0.batch], [$0.key.place]) }
    }

    /// The events that are not on their way, with the index of their batch.
    var events: some Sequence<(batch: Int, key: EventKey, mark: Blame.Mark)> {
        open.indices.lazy.filter { !open[$0].isInFlight }.flatMap { batch in
            open[batch].rest.lazy.map { open[batch].key($0) }.map { (batch, $0, blame[$0]) }
        }
    }

    /// The events of each open batch that match.
    private func candidates(_ isMatch: (EventKey) -> Bool) -> [(batch: Int, places: [Int])] {
        open.indices.compactMap { number in
            if open[number].isInFlight { return nil }
            let places = open[number].rest.filter { isMatch(open[number].key($0)) }
            return places.isEmpty ? nil : (number, places)
        }
    }

    /// When the first event can be sent that is not on its way; nil without one.
    var earliest: Duration? { events.lazy.map(\.mark.due).min() }

    /// A random index below `count`.
    private func pick(_ count: Int, _ random: () -> UInt64) -> Int { Int(random().fraction * Double(count)) }
}
