import Sluice

/// A segment as it lies on the disk, seen without the store's eyes.
struct SegmentFile {
    /// The bytes of a line beside the event: `,"crc":"1a2b3c4d"` and a newline.
    static let overhead = 18

    let path: String
    let priority: Event.Priority
    let sequence: UInt64
    private let contents: [UInt8]

    /// Nil for what is no segment of events.
    init?(path: String, file: SimulatedDisk.File) {
        let parts = path.split(separator: "/")
        guard parts.count == 4, parts[3].hasSuffix(".jsonl") else { return nil }
        let fields = parts[3].split(separator: "-")
        guard fields.count == 3, fields[0] != "rejected", let sequence = UInt64(fields[1], radix: 16) else {
            return nil
        }
        self.path = path
        self.sequence = sequence
        priority = fields[0] == "critical" ? .critical : .normal
        contents = file.bytes
    }

    /// Whether a file holds dead letters.
    static func holdsDeadLetters(_ path: String) -> Bool { path.contains("/rejected-") }

    var bytes: Int { contents.count }

    var serials: [Int] { SegmentFile.serials(in: contents) }

    /// Of whole lines, without the ones that were settled: in a torn one, the number may be torn as well.
    static func serials(in bytes: [UInt8]) -> [Int] {
        bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
            .filter { $0.last == UInt8(ascii: "}") && !$0.dropLast(10).suffix(8).elementsEqual(#","xrc":""#.utf8) }
            .compactMap { Books.serial($0) }
    }

    /// Of the line that the byte at `index` belongs to, and of the next.
    static func serials(around index: Int, in bytes: [UInt8]) -> [Int] {
        let newline = UInt8(ascii: "\n")
        let start = bytes[..<index].lastIndex(of: newline).map { $0 + 1 } ?? 0
        let rest = bytes[start...].split(separator: newline, maxSplits: 2, omittingEmptySubsequences: false)
        return rest.prefix(2).compactMap { Books.serial($0) }
    }
}
