import Sluice

/// Lines in order of arrival. Taking the first is O(1) amortised: the gap it leaves is closed when it is half of all.
struct Queue {
    private var lines: [EventLine?] = []
    private var head = 0
    private(set) var bytes = 0

    var isEmpty: Bool { head == lines.count }

    var first: EventLine? { isEmpty ? nil : lines[head] }

    mutating func append(_ line: EventLine) {
        lines.append(line)
        bytes += line.bytes.count
    }

    /// Puts lines back before the first, in their order.
    mutating func prepend(_ others: [EventLine]) {
        lines.replaceSubrange(0..<head, with: others)
        head = 0
        bytes += others.reduce(0) { $0 + $1.bytes.count }
    }

    mutating func popFirst() -> EventLine? {
        guard let line = first else { return nil }
        // The bytes are freed now, not when the gap is closed.
        lines[head] = nil
        head += 1
        bytes -= line.bytes.count
        if head >= 64, head * 2 >= lines.count {
            lines.removeSubrange(0..<head)
            head = 0
        }
        return line
    }

    mutating func removeFirst() {
        _ = popFirst()
    }
}
