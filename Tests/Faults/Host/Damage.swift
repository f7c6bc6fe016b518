import Sluice
import SluiceJSONL

/// Damages a segment of 64 KiB in every variant of one kind, and lets the store read each.
///
/// There are half a million variants, so many are read in one process. The last line of the output has the counts. It is
/// missing if the store crashed.
struct Damage {
    private enum Kind: String {
        /// The file is cut at a byte.
        case cut
        /// The file ends in NUL bytes, as ext4 may leave them after a loss of power.
        case nul
        /// One bit is flipped.
        case flip
        /// A block has other contents: noise, or lines of another file.
        case block
    }

    private let directory: String
    private let kind: Kind
    private let variants: StrideTo<Int>
    private let segment: SegmentSample
    private let foreign: SegmentSample

    init(_ arguments: ArraySlice<String>) {
        let words = Array(arguments)
        guard words.count == 5, let kind = Kind(rawValue: words[1]), let first = Int(words[2]), let end = Int(words[3]),
            let step = Int(words[4])
        else { System.fail("FaultHost damage DIRECTORY KIND FIRST END STEP") }
        directory = words[0]
        self.kind = kind
        segment = SegmentSample(in: "\(directory)/made", writer: 1)
        foreign = SegmentSample(in: "\(directory)/foreign", writer: 2)
        let all = kind == .flip ? segment.bytes.count * 8 : segment.bytes.count
        variants = stride(from: first, to: min(end, all), by: step)
    }

    func run() {
        var total = Outcome()
        var trials = 0
        for variant in variants {
            let outcome = read(damaged(variant), variant)
            total.add(outcome)
            trials += 1
            if let fault = fault(of: outcome, variant) {
                Recorder().record("fault \(kind.rawValue) \(variant): \(fault) \(outcome)")
                total.faults += 1
            }
        }
        Recorder().record(
            "damage trials=\(trials) bytes=\(segment.bytes.count) events=\(segment.lines.count)"
                + " delivered=\(total.delivered) missing=\(total.lost) most=\(total.mostLost) counted=\(total.counted)"
                + " altered=\(total.altered) faults=\(total.faults)")
    }

    // MARK: Damaging

    private func damaged(_ variant: Int) -> [UInt8] {
        var bytes = segment.bytes
        switch kind {
        case .cut: bytes.removeLast(bytes.count - variant)
        case .flip: bytes[variant / 8] ^= 1 << (variant % 8)
        case .nul:
            bytes.removeLast(bytes.count - variant)
            bytes += [UInt8](repeating: 0, count: [1, 100, 4_096, 70_000][variant % 4])
        case .block:
            var noise = SeededNoise(state: UInt64(variant))
            let isNoise = variant % 2 == 0
            for index in block(variant) {
                bytes[index] = isNoise ? noise.next() : foreign.bytes[(index + variant * 7) % foreign.bytes.count]
            }
        }
        return bytes
    }

    private func block(_ variant: Int) -> Range<Int> {
        variant..<min(segment.bytes.count, variant + (variant % 4 < 2 ? 512 : 4_096))
    }

    // MARK: Judging

    private func fault(of outcome: Outcome, _ variant: Int) -> String? {
        if outcome.altered > 0 { return "delivered altered events" }
        let unharmed = expectedUnharmed(variant)
        let missing = unharmed.subtracting(outcome.found)
        if !missing.isEmpty { return "lost \(missing.sorted()), which were not damaged" }
        switch kind {
        case .cut, .nul:
            if outcome.found.count > unharmed.count { return "delivered lines that were cut off" }
            let hasTail = kind == .nul || (variant > 0 && segment.bytes[variant - 1] != UInt8(ascii: "\n"))
            if outcome.counted != (hasTail ? 1 : 0) { return "miscounted the tail" }
        case .flip:
            if outcome.lost > 2 { return "lost more than two" }
            if outcome.lost > 0, outcome.counted == 0 { return "did not count a loss" }
        case .block:
            if outcome.lost > 0, outcome.counted == 0 { return "did not count a loss" }
        }
        return outcome.isBalanced ? nil : "recovered is not delivered and dropped"
    }

    /// The lines that must be delivered.
    private func expectedUnharmed(_ variant: Int) -> Set<Int> {
        let damage: Range<Int> =
            switch kind {
            case .cut, .nul: variant..<segment.bytes.count
            case .flip: variant / 8..<variant / 8 + 1
            case .block: block(variant)
            }
        let isNewlineDamaged = kind == .flip || kind == .block
        var unharmed: Set<Int> = []
        for (index, range) in segment.ranges.enumerated() where !range.overlaps(damage) {
            // Without the newline before it, a line is part of the damaged one.
            if isNewlineDamaged, range.lowerBound > 0, damage.contains(range.lowerBound - 1) { continue }
            unharmed.insert(index)
        }
        return unharmed
    }

    // MARK: Reading

    private func read(_ bytes: [UInt8], _ variant: Int) -> Outcome {
        let root = "\(directory)/read"
        let folder = "\(root)/\(EventID(high: 0x4000, low: UInt64(variant)))"
        System.makeDirectory(root)
        System.makeDirectory(folder)
        System.makeFile("\(folder)/\(segment.name)", bytes[...])
        var outcome = Outcome()
        let counts = Locked((recovered: 0, dropped: 0))
        let store = JSONLStore(at: root)
        do throws(SluiceError) {
            try store.open(
                StoreObserver(
                    onRecovered: { count in counts.withLock { $0.recovered += count } },
                    onDropped: { count, reason in
                        counts.withLock { $0.dropped += reason == .corrupt ? count : .min / 2 }
                    }, onNote: { _ in }), in: PipelineEnvironment())
            while let batch = try store.nextBatch(BatchSize(events: 500, bytes: 262_144)) {
                note(batch.events, in: &outcome)
                try store.settle(batch.id)
            }
        } catch {
            System.fail("variant \(variant): \(error)")
        }
        store.close()
        let (recovered, dropped) = counts.withLock { $0 }
        outcome.counted = dropped
        outcome.lost = segment.lines.count - outcome.found.count
        outcome.mostLost = outcome.lost
        outcome.isBalanced = recovered == outcome.delivered + dropped
        return outcome
    }

    private func note(_ lines: [EventLine], in outcome: inout Outcome) {
        var index = 0
        for line in lines {
            outcome.delivered += 1
            // The lines of this file are in order, so the search for the next one is short.
            while index < segment.lines.count, segment.lines[index] != line.bytes { index += 1 }
            if index < segment.lines.count {
                outcome.found.insert(index)
            } else {
                index = (outcome.found.max() ?? -1) + 1
                if kind != .block || !foreign.lines.contains(line.bytes) { outcome.altered += 1 }
            }
        }
    }
}

/// The result of one variant, or of all.
struct Outcome {
    var found: Set<Int> = []
    var delivered = 0
    var lost = 0
    var mostLost = 0
    var counted = 0
    var altered = 0
    var faults = 0
    var isBalanced = true

    mutating func add(_ other: Outcome) {
        delivered += other.delivered
        lost += other.lost
        mostLost = max(mostLost, other.mostLost)
        counted += other.counted
        altered += other.altered
    }
}

/// A real segment of 64 KiB and its events, or one of dead letters.
struct SegmentSample {
    let name: String
    let bytes: [UInt8]
    /// The ranges of the lines, including their newlines.
    let ranges: [Range<Int>]
    let lines: [ArraySlice<UInt8>]

    init(in directory: String, writer: Int, deadLetters: Int? = nil) {
        var lines: [ArraySlice<UInt8>] = []
        var size = 0
        let store = JSONLStore(at: directory)
        do throws(SluiceError) {
            try store.open()
            while deadLetters.map({ lines.count < $0 }) ?? (size < 65_536) {
                let numbered = NumberedEvent(writer: writer, number: lines.count, maximumFiller: 600)
                let event = Event(
                    id: EventID(high: UInt64(writer), low: UInt64(lines.count)), name: NumberedEvent.name,
                    time: SystemTime().wallTime(), properties: numbered.properties)
                let line = try EventLine(event)
                try store.append(line)
                lines.append(line.bytes)
                size += line.bytes.count + 18
            }
            if deadLetters != nil {
                while let batch = try store.nextBatch(BatchSize(events: 500, bytes: 262_144)) {
                    let date = SystemTime().wallTime()
                    store.reject(
                        batch.events.map { DeadLetter(line: $0, reason: "HTTP 400", date: date) },
                        in: batch.id)
                    try store.settle(batch.id)
                }
            }
        } catch {
            System.fail("\(error)")
        }
        store.close()
        let (name, bytes) = System.onlySegment(in: directory)
        self.name = name
        self.bytes = bytes
        self.lines = lines
        var ranges: [Range<Int>] = []
        var start = 0
        for (index, byte) in bytes.enumerated() where byte == UInt8(ascii: "\n") {
            ranges.append(start..<index + 1)
            start = index + 1
        }
        self.ranges = ranges
        guard ranges.count == lines.count else { System.fail("the sample was altered") }
    }
}

/// Bytes that a seed determines.
struct SeededNoise {
    var state: UInt64

    mutating func next() -> UInt8 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return UInt8(truncatingIfNeeded: state >> 56)
    }
}
