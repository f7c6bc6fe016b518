import Sluice

/// What comes from the threads of a server, for a test to wait for.
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

    /// All that has come so far.
    var all: [Element] { elements.withLock { $0 } }

    /// Waits for one more. Not for two tasks at the same time.
    func next() async throws -> Element {
        for await element in stream { return element }
        throw CancellationError()
    }
}
