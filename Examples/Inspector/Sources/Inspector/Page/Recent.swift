/// The newest elements, bounded in number and in bytes.
struct Recent<Element> {
    private let limit: Int
    private let byteLimit: Int
    private var stored: [(element: Element, bytes: Int, time: Int64)] = []
    private var bytes = 0
    /// The number of elements that were ever added.
    private(set) var added = 0

    init(limit: Int, bytes: Int) {
        self.limit = limit
        byteLimit = bytes
    }

    /// - Parameter time: The newest elements are the ones with the latest times, and the last ones of the same time.
    mutating func append(_ element: Element, bytes count: Int, time: Int64 = 0) {
        stored.append((element, count, time))
        bytes += count
        added += 1
        // Removing elements takes long, so it happens seldom.
        if stored.count >= limit * 2 || bytes >= byteLimit * 2 { trim() }
    }

    /// The newest elements within the limits, the oldest first. At least the last one.
    var elements: [Element] {
        var trimmed = self
        trimmed.trim()
        return trimmed.stored.map(\.element)
    }

    private mutating func trim() {
        // By the place too, because sorting doesn't promise to keep the order of equal times.
        let order = stored.indices.sorted { (stored[$0].time, $0) < (stored[$1].time, $1) }
        stored = order.map { stored[$0] }
        var count = max(0, stored.count - limit)
        var rest = stored[count...].reduce(0) { $0 + $1.bytes }
        while rest > byteLimit, count < stored.count - 1 {
            rest -= stored[count].bytes
            count += 1
        }
        stored.removeFirst(count)
        bytes = rest
    }
}
