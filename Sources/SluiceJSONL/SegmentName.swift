internal import Sluice

/// The name of a segment's file: `<lane>-<sequence>-<created>.jsonl`.
///
/// It contains everything that is known about the segment without reading it. It is also the version of the format: a name
/// of another shape belongs to another version or another program, and the file is left alone.
struct SegmentName: Hashable {
    let lane: Lane
    /// Ascends over all segments of a root directory that the process knows: sixteen hexadecimal digits.
    let sequence: UInt64
    /// Decimal milliseconds in the time of ``StoreClock``, or ``unknownTime``.
    let created: Timestamp

    /// The time of segments that were created while the wall clock was implausible.
    static let unknownTime = Timestamp(milliseconds: 0)

    private static let suffix = ".jsonl"
    /// Leaves room for numbers after the highest one that was read.
    static let maximumSequence = UInt64.max >> 1
    private static let maximumMilliseconds: Int64 = 1_000_000_000_000_000

    init(_ lane: Lane, sequence: UInt64, created: Timestamp) {
        self.lane = lane
        self.sequence = sequence
        self.created = Timestamp(milliseconds: min(max(0, created.milliseconds), SegmentName.maximumMilliseconds))
    }

    init?(_ text: String) {
        guard text.hasSuffix(SegmentName.suffix) else { return nil }
        let parts = text.dropLast(SegmentName.suffix.count).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3,
            let lane = Lane(word: parts[0]), let sequence = UInt64(parts[1], radix: 16),
            sequence <= SegmentName.maximumSequence,
            let milliseconds = Int64(parts[2])
        else { return nil }
        self.init(lane, sequence: sequence, created: Timestamp(milliseconds: milliseconds))
        // This version writes no signs, leading zeros or capitals.
        guard self.text == text else { return nil }
    }

    var text: String { "\(lane.word)-\(sequence.digits)-\(created.milliseconds)\(SegmentName.suffix)" }
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
