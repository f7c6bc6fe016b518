import Sluice

/// An element with a size in bytes.
protocol Sized {
    var size: Int { get }
}

extension EventLine: Sized {
    var size: Int { bytes.count }
}

extension DeadLetter: Sized {
    var size: Int { line.bytes.count + reason.utf8.count + (response?.utf8.count ?? 0) }
}

/// Elements in order of arrival, and their size. Taking the first one is O(1) amortized, because the gap that it leaves
/// is closed when it is half of the storage.
struct Queue<Element: Sized> {
    private var elements: [Element?] = []
    private var head = 0
    private(set) var bytes = 0

    var isEmpty: Bool { head == elements.count }

    var count: Int { elements.count - head }

    var first: Element? { isEmpty ? nil : elements[head] }

    var all: [Element] { elements[head...].compactMap(\.self) }

    mutating func append(_ element: Element) {
        elements.append(element)
        bytes += element.size
    }

    mutating func popFirst() -> Element? {
        guard let element = first else { return nil }
        // The bytes are freed now, not when the gap is closed.
        elements[head] = nil
        head += 1
        bytes -= element.size
        if head >= 64, head * 2 >= elements.count {
            elements.removeSubrange(0..<head)
            head = 0
        }
        return element
    }

    /// Removes and returns the elements that match.
    mutating func removeAll(where isMatch: (Element) -> Bool) -> [Element] {
        let removed = all.filter(isMatch)
        guard !removed.isEmpty else { return [] }
        elements = elements[head...].filter { $0.map { !isMatch($0) } ?? false }
        head = 0
        bytes -= removed.reduce(0) { $0 + $1.size }
        return removed
    }
}
