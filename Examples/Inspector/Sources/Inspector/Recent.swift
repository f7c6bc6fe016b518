/// The newest elements, bounded in number and in bytes.
struct Recent<Element> {
    private let limit: Int
    private let byteLimit: Int
    private var stored: [(element: Element, bytes: Int)] = []
    private var bytes = 0
    /// The number of elements that were ever added.
    private(set) var added = 0

    init(limit: Int, bytes: Int) {
        self.limit = limit
        byteLimit = bytes
    }

    mutating func append(_ element: Element, bytes count: Int) {
        stored.append((element, count))
        bytes += count
        added += 1
        // Removing elements from the front takes long, so it happens seldom.
        if stored.count >= limit * 2 || bytes >= byteLimit * 2 { trim() }
    }

    /// The newest elements within the limits, the oldest first. At least the last one.
    var elements: [Element] {
        var trimmed = self
        trimmed.trim()
        return trimmed.stored.map(\.element)
    }

    private mutating func trim() {
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
