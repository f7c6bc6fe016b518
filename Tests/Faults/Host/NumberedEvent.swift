import Sluice

/// An event whose contents follow from two numbers, its writer's and its own. A receiver can therefore check that it is
/// unchanged. `books.py` contains the same rule.
struct NumberedEvent {
    let writer: Int
    let number: Int
    let priority: Event.Priority
    let filler: String

    static let name = "Fault"

    /// - Parameter maximumFiller: the largest filler of an ordinary event. One in 64 is twenty times as long.
    init(writer: Int, number: Int, maximumFiller: Int) {
        self.writer = writer
        self.number = number
        let hash = NumberedEvent.hash(UInt64(writer) << 40 ^ UInt64(number))
        priority = (hash >> 8) % 10 == 0 ? .critical : .normal
        let size = Int((hash >> 16) % UInt64(maximumFiller + 1)) * ((hash >> 48) % 64 == 0 ? 20 : 1)
        let digits = String(hash, radix: 16)
        filler = String(String(repeating: digits, count: size / digits.utf8.count + 1).prefix(size))
    }

    var properties: Properties {
        ["writer": .int(Int64(writer)), "number": .int(Int64(number)), "filler": .string(filler)]
    }

    /// SplitMix64's finalizer.
    private static func hash(_ value: UInt64) -> UInt64 {
        var hash = value &+ 0x9E37_79B9_7F4A_7C15
        hash = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
        hash = (hash ^ (hash >> 27)) &* 0x94D0_49BB_1331_11EB
        return hash ^ (hash >> 31)
    }
}
