/// The results of a world.
extension RuleWorld {
    var requests: Int { answers.count }
    func requests(from begin: Duration, to end: Duration = .seconds(1e9)) -> Int {
        answers.count { $0 >= begin && $0 < end }
    }
    var events: Int { places.count }
    /// Good events, except for the erased ones.
    private var good: some Sequence<Int> {
        (0..<events).lazy.filter { [bad, places] in !bad.contains($0) && places[$0] != .gone }
    }
    func isBad(_ event: Int) -> Bool { bad.contains(event) }
    var missing: Int { good.count { arrived[$0] == nil } }
    var goodDead: Int { deadLetters.count { !bad.contains($0.event) } }
    var found: Int { deadLetters.count { bad.contains($0.event) } }
    var left: Int { places.count { $0 == .waiting || $0 == .open } }
    var firstGood: Duration { good.compactMap { arrived[$0] }.min() ?? .seconds(1e9) }
    var lastGood: Duration { missing > 0 ? .seconds(1e9) : good.compactMap { arrived[$0] }.max() ?? .zero }

    /// The smallest number of events to move until all are in order.
    var outOfOrder: Int {
        var tails: [Int] = []
        for event in order {
            let index = tails.firstIndex { $0 >= event } ?? tails.count
            if index == tails.count { tails.append(event) } else { tails[index] = event }
        }
        return order.count - tails.count
    }
}
