import Sluice

/// A queue from a server's threads to a test.
final class Arrivals<Element: Sendable>: Sendable {
    private let elements = Locked<[Element]>([])
    private let stream: AsyncStream<Element>
    private let continuation: AsyncStream<Element>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream(of: Element.self)
    }

    func add(_ element: Element) {
        elements.withLock { $0.append(element) }
        continuation.yield(element)
    }

    /// All elements so far.
    var all: [Element] { elements.withLock { $0 } }

    /// Waits for the next element. Only one task can wait.
    func next() async throws -> Element {
        for await element in stream { return element }
        throw CancellationError()
    }
}
