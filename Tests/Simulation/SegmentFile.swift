import Sluice

/// A segment as it lies on the disk, seen without the store's eyes.
struct SegmentFile {
    /// The bytes of a line beside the event: `,"crc":"1a2b3c4d"` and a newline.
    static let overhead = 18

    let path: String
    let priority: Event.Priority
    let sequence: UInt64
    private let contents: [UInt8]
    private let seed: UInt32

    /// Nil for what is no segment of events.
    init?(path: String, file: SimulatedDisk.File) {
        let parts = path.split(separator: "/")
        guard parts.count == 4, parts[3].hasSuffix(".jsonl") else { return nil }
        let fields = parts[3].split(separator: "-")
        let isReused = fields.count == 4 && fields[3] == "r.jsonl"
        guard fields.count == 3 || isReused, fields[0] != "rejected", let sequence = UInt64(fields[1], radix: 16)
        else { return nil }
        self.path = path
        seed = isReused ? UInt32(truncatingIfNeeded: sequence) : 0
        self.sequence = sequence
        priority = fields[0] == "critical" ? .critical : .normal
        contents = file.bytes
        ownBytes = file.bytes.count - file.foreignBytes
    }

    /// Whether a file holds dead letters.
    static func holdsDeadLetters(_ path: String) -> Bool { path.contains("/rejected-") }

    /// A line that another program appends.
    static let foreignLine = Array("# a line of another program\n".utf8)

    var bytes: Int { contents.count }

    /// Without the lines of other programs. Until the file is closed, the store doesn't know them. Afterwards an erasure may have
    /// blanked them, or a line of ours may have replaced them.
    let ownBytes: Int

    var serials: [Int] { lines.compactMap { Books.serial($0) } }

    /// The lines of events that wait, without their newlines. A loss of power can bring back lines of an earlier segment, whose
    /// checksums are wrong here.
    var lines: [ArraySlice<UInt8>] {
        contents.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast().filter { line in
            guard line.count > 18, line.last == UInt8(ascii: "}"), line.suffix(18).starts(with: #","crc":""#.utf8),
                let checksum = UInt32(String(decoding: line.dropLast(2).suffix(8), as: UTF8.self), radix: 16)
            else { return false }
            return checksum ^ seed == SegmentFile.checksum(line.dropLast(18) + [UInt8(ascii: "}")])
        }
    }

    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(byte) { sum, _ in sum & 1 == 1 ? sum >> 1 ^ 0x82F6_3B78 : sum >> 1 }
    }

    private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        ~bytes.reduce(~0) { $0 >> 8 ^ table[Int(($0 ^ UInt32($1)) & 0xFF)] }
    }

    /// The numbers in the whole lines of dead letters: in a torn one, the number may be torn as well.
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
