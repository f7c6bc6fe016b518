import SluiceTesting
import Testing

@testable import SluiceMemory

@Suite struct QueueTests {
    private struct Element: Sized, Equatable {
        let number: Int
        var size: Int { number % 7 + 1 }
    }

    @Test("a queue behaves like an array, whatever is appended, taken and removed", arguments: UInt64(0)..<20)
    func queueBehavesLikeArray(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var queue = Queue<Element>()
        var model: [Element] = []
        for number in 0..<2_000 {
            switch Int.random(in: 0..<100, using: &random) {
            case ..<55:
                queue.append(Element(number: number))
                model.append(Element(number: number))
            case ..<98:
                let first = model.isEmpty ? nil : model.removeFirst()
                #expect(queue.popFirst() == first)
            default:
                let removed = model.filter { $0.number % 3 == 0 }
                model.removeAll { $0.number % 3 == 0 }
                #expect(queue.removeAll { $0.number % 3 == 0 } == removed)
            }
            #expect(queue.count == model.count && queue.isEmpty == model.isEmpty && queue.first == model.first)
            #expect(queue.bytes == model.reduce(0) { $0 + $1.size })
        }
        #expect(queue.all == model)
    }
}
