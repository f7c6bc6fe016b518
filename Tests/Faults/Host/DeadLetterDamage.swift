import Sluice
import SluiceJSONL

/// Flips one random bit in a file of dead letters, replays them all, and looks at what is delivered.
struct DeadLetterDamage {
    private let directory: String
    private let trials: Int
    private var random: SeededNoise
    private let sample: SegmentSample

    init(_ arguments: ArraySlice<String>) {
        let words = Array(arguments)
        guard words.count == 3, let seed = UInt64(words[1]), let trials = Int(words[2]) else {
            System.fail("FaultHost dlflip DIRECTORY SEED TRIALS")
        }
        directory = words[0]
        self.trials = trials
        random = SeededNoise(state: seed)
        sample = SegmentSample(in: "\(directory)/made", writer: 1, deadLetters: 20)
    }

    mutating func run() {
        var total = Outcome()
        for trial in 0..<trials {
            let bit = (0..<4).reduce(0) { sum, _ in sum << 8 | Int(random.next()) } % (sample.bytes.count * 8)
            var bytes = sample.bytes
            bytes[bit / 8] ^= 1 << (bit % 8)
            let outcome = replay(bytes, trial)
            total.add(outcome)
            // A newline that is damaged joins two lines.
            guard outcome.altered > 0 || !(1...2).contains(outcome.lost) || outcome.counted == 0 else { continue }
            Recorder().record("fault dlflip \(bit): \(outcome)")
            total.faults += 1
        }
        Recorder().record(
            "damage trials=\(trials) bytes=\(sample.bytes.count) events=\(sample.lines.count)"
                + " delivered=\(total.delivered) missing=\(total.lost) most=\(total.mostLost) counted=\(total.counted)"
                + " altered=\(total.altered) faults=\(total.faults)")
    }

    private func replay(_ bytes: [UInt8], _ trial: Int) -> Outcome {
        let root = "\(directory)/read"
        let folder = "\(root)/\(EventID(high: 0x4000, low: UInt64(trial)))"
        System.makeDirectory(root)
        System.makeDirectory(folder)
        System.makeFile("\(folder)/\(sample.name)", bytes[...])
        var outcome = Outcome()
        let counted = Locked(0)
        let store = JSONLStore(at: root)
        do throws(SluiceError) {
            try store.open(
                StoreObserver(
                    onRecovered: { _ in }, onDropped: { _, _ in },
                    onDeadLettersDropped: { count, reason in
                        counted.withLock { $0 += reason == .corrupt ? count : .min / 2 }
                    }, onNote: { _ in }), in: PipelineEnvironment())
            _ = try store.replayDeadLetters(Set(try store.deadLetters().map(\.id)))
            while let batch = try store.nextBatch(BatchSize(events: 500, bytes: 262_144)) {
                for line in batch.events {
                    outcome.delivered += 1
                    if !sample.lines.contains(line.bytes) { outcome.altered += 1 }
                }
                try store.settle(batch.id)
            }
        } catch {
            System.fail("trial \(trial): \(error)")
        }
        store.close()
        outcome.counted = counted.withLock(\.self)
        outcome.lost = sample.lines.count - outcome.delivered
        outcome.mostLost = outcome.lost
        return outcome
    }
}
