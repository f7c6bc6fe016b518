import Sluice

extension WireFormat {
    /// The endpoint of each request and the indices of its events, in the order of their first events.
    func requests(of batch: Batch) -> [(endpoint: String, events: [Int])] {
        var requests: [(endpoint: String, events: [Int])] = []
        // The endpoints of several events in a row, and the index of the first one. Event by event, the row `request` of
        // `Tests/Instructions` is 5 % above.
        var (endpoints, first): ([String], Int) = ([], 0)
        func add(upTo end: Int) {
            for endpoint in endpoints {
                guard let position = requests.firstIndex(where: { $0.endpoint.hasBytes(of: endpoint) }) else {
                    requests.append((endpoint, Array(first..<end)))
                    continue
                }
                // A name that a format returns twice counts once.
                if requests[position].events.last == end - 1 { continue }
                requests[position].events += first..<end
            }
        }
        for (index, line) in batch.events.enumerated() {
            // The format can't encode a line that it can't read either.
            var next = attempt(try self.endpoints(for: line), or: [])
            if next.isEmpty { next = [""] }
            // By bytes, because a name can be a person's id.
            if next.elementsEqual(endpoints, by: { $0.hasBytes(of: $1) }) { continue }
            add(upTo: index)
            (endpoints, first) = (next, index)
        }
        add(upTo: batch.events.count)
        return requests
    }
}

extension String {
    /// Whether requests with these names go to one endpoint.
    func isPlace(of other: String) -> Bool {
        utf8.prefix { $0 != 0 }.elementsEqual(other.utf8.prefix { $0 != 0 })
    }
}

extension Verdicts {
    /// Merges the verdicts on a batch that was sent in several requests.
    ///
    /// If all requests failed in the same way, the result is one verdict for the whole batch, and the route pauses.
    /// Otherwise each event gets the verdict of its request. The events of a request that failed have failed
    /// together, and don't block the others.
    /// An event of several requests is accepted if all of them accept it, and is sent again if one of them has to be
    /// repeated.
    ///
    /// - Parameters:
    ///   - results: The indices of the events of each request, and the verdicts on them. Together they have every index.
    ///   - count: The number of events of the batch.
    /// - Returns: The verdicts on the whole batch.
    static func merging(_ results: [(events: [Int], verdicts: Verdicts)], of count: Int) -> Verdicts {
        let wholes = results.compactMap(\.verdicts.whole)
        let status = results.compactMap(\.verdicts.status).last
        // A time that an endpoint names is for its events.
        if let whole = wholes.first, wholes.count == results.count, wholes.allSatisfy({ $0 == whole }),
            !results.contains(where: \.verdicts.hasTime)
        {
            var merged = Verdicts.all(whole, status: status)
            merged.response = results.compactMap(\.verdicts.response).last
            return merged
        }
        var each = [Verdict](repeating: .accepted, count: count)
        for result in results {
            for (index, verdict) in zip(result.events, result.verdicts.list(of: result.events.count))
            where verdict.rank > each[index].rank { each[index] = verdict }
        }
        return .each(each, status: status)
    }

    /// The events that an answer about one part of the backend leaves open, by part.
    func open(in parts: [Int64]) -> [[Int]] {
        guard case .each(let list) = kind, list.count == parts.count else { return [] }
        let open = list.indices.filter { list[$0].kind == .split }
        return Dictionary(grouping: open) { parts[$0] }.values.sorted { $0[0] < $1[0] }
    }

    /// The verdict on all events together. Nil for one on each.
    private var whole: Verdict? { if case .all(let verdict) = kind { verdict } else { nil } }

    /// Whether it is one answer that names a time.
    var hasTime: Bool { if case .retry(let after?) = whole?.kind { after > .zero } else { false } }

    /// Whether it is one answer about the receiver, and not about the events.
    var isOfReceiver: Bool { whole.map { $0.rank >= Verdict.hold(reason: "").rank } ?? false }

    /// The verdicts on the `count` events of a request, with its words and status.
    func list(of count: Int) -> [Verdict] {
        var list = [Verdict](repeating: whole ?? .retry(), count: count)
        if case .each(let verdicts) = kind, verdicts.count == count { list = verdicts }
        return list.map { $0.saying($0.response ?? response, $0.status ?? status) }
    }
}

extension Verdict {
    /// Which of two verdicts on one event counts: the higher one.
    fileprivate var rank: Int {
        switch kind {
        case .accepted: 0
        case .duplicate: 1
        case .rejected, .unsendable: 2
        case .tooLarge, .split: 3
        case .hold: 4
        case .retry: 5
        }
    }
}
