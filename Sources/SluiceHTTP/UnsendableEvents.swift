import Sluice

extension WireFormat {
    /// Returns the reasons for which events can't be sent, by index. Each candidate is encoded alone.
    func unsendable(in batch: Batch, of blank: HTTPRequest, where isCandidate: (EventLine) -> Bool) -> [Int: String] {
        var result: [Int: String] = [:]
        for (index, line) in batch.events.enumerated() where isCandidate(line) {
            var alone = blank
            do {
                try encode(Batch(id: batch.id, events: [line]), into: &alone)
                if alone.body.count > min(maximumEventBytes, maximumBodyBytes) {
                    result[index] = "the event is larger than the backend accepts"
                }
            } catch {
                // The texts of other errors may contain secrets.
                let isUnreadable = (error as? SluiceError)?.code == .malformedLine
                result[index] =
                    isUnreadable
                    ? "the stored line of the event can't be read"
                    : "the format can't encode the event (\(type(of: error)))"
            }
        }
        return result
    }
}

extension Batch {
    func without(_ indices: some Collection<Int>) -> Batch {
        guard !indices.isEmpty else { return self }
        return Batch(self, events.indices.filter { !indices.contains($0) })
    }
}

extension Verdicts {
    /// Inserts verdicts on unsendable events, by index, into the verdicts on the sendable ones.
    func inserting(unsendable: [Int: String], of count: Int) -> Verdicts {
        guard !unsendable.isEmpty else { return self }
        var rest = list(of: count - unsendable.count)[...]
        var result = Verdicts.each(
            (0..<count).map { unsendable[$0].map { .unsendable(reason: $0) } ?? rest.removeFirst() }, status: status)
        result.response = response
        return result
    }
}
