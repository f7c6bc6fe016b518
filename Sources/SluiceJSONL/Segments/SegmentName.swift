internal import Sluice

/// The name of a segment's file: `<lane>-<sequence>-<created>.jsonl`, or `<lane>-<sequence>-<created>-r.jsonl` for a file that
/// was one of an earlier segment.
///
/// It contains everything that is known about the segment without reading it. It is also the version of the format: a name
/// of another shape belongs to another version or another program, and the file is left alone.
struct SegmentName: Hashable {
    let lane: Lane
    /// Ascends over all segments of a root directory that the process knows: sixteen hexadecimal digits.
    let sequence: UInt64
    /// Decimal milliseconds in the time of the directory's ``StoreClock``.
    let created: Timestamp
    /// Whether the file had lines of an earlier segment. A loss of power can bring them back.
    let isReused: Bool

    fileprivate typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>
    private static let suffix = ".jsonl"
    private static let reusedSuffix = "-r.jsonl"
    /// Leaves room for numbers after the highest one that was read.
    static let maximumSequence = UInt64.max >> 1
    private static let maximumMilliseconds: Int64 = 1_000_000_000_000_000

    init(_ lane: Lane, sequence: UInt64, created: Timestamp, isReused: Bool = false) {
        self.lane = lane
        self.sequence = sequence
        self.isReused = isReused
        self.created = Timestamp(milliseconds: min(max(0, created.milliseconds), SegmentName.maximumMilliseconds))
    }

    /// Each name has one spelling: this version writes no signs, leading zeros or capitals.
    init?(_ text: String) {
        var text = text
        guard let name = text.withUTF8({ SegmentName($0[...]) }) else { return nil }
        self = name
    }

    private init?(_ bytes: SegmentName.Bytes) {
        var rest = bytes
        guard let lane = Lane.allCases.first(where: { rest.starts(with: $0.word.utf8) }) else { return nil }
        rest.removeFirst(lane.word.utf8.count)
        let isReused = bytes.suffix(SegmentName.reusedSuffix.utf8.count).elementsEqual(SegmentName.reusedSuffix.utf8)
        guard rest.removeDash(), let sequence = rest.removeSequence(), sequence <= SegmentName.maximumSequence,
            rest.removeDash(), let milliseconds = rest.removeDecimal(), milliseconds <= SegmentName.maximumMilliseconds,
            rest.elementsEqual((isReused ? SegmentName.reusedSuffix : SegmentName.suffix).utf8)
        else { return nil }
        self.init(lane, sequence: sequence, created: Timestamp(milliseconds: milliseconds), isReused: isReused)
    }

    var text: String {
        let suffix = isReused ? SegmentName.reusedSuffix : SegmentName.suffix
        return "\(lane.word)-\(sequence.digits)-\(created.milliseconds)\(suffix)"
    }

    /// Combined with the checksum of each line in a reused file, so that a line of another segment is not valid there.
    var seed: UInt32 { isReused ? UInt32(truncatingIfNeeded: sequence) : 0 }
}

// A store is opened with perhaps 100,000 of them, so reading a name makes no strings.
extension SegmentName.Bytes {
    fileprivate mutating func removeDash() -> Bool {
        guard first == UInt8(ascii: "-") else { return false }
        removeFirst()
        return true
    }

    /// Sixteen hexadecimal digits in lower case.
    fileprivate mutating func removeSequence() -> UInt64? {
        var value: UInt64 = 0
        for _ in 0..<16 {
            guard let byte = first, byte > UInt8(ascii: "Z") || byte < UInt8(ascii: "A"),
                let digit = hexadecimalDigit(byte)
            else { return nil }
            value = value << 4 | UInt64(digit)
            removeFirst()
        }
        return value
    }

    /// Up to sixteen decimal digits without a leading zero.
    fileprivate mutating func removeDecimal() -> Int64? {
        let digits = prefix { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
        guard let first = digits.first, digits.count <= 16, first != UInt8(ascii: "0") || digits.count == 1 else {
            return nil
        }
        removeFirst(digits.count)
        return digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }
}

extension SegmentName: Comparable {
    static func < (left: SegmentName, right: SegmentName) -> Bool {
        (left.sequence, left.created) < (right.sequence, right.created)
    }
}

extension UInt64 {
    /// Sixteen hexadecimal digits.
    var digits: String {
        let digits = String(self, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
