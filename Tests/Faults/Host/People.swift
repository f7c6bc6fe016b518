import Sluice
import SluiceFilters
import SluiceJSONL

/// Erases one of many people, and reads events with keys that change.
///
///     FaultHost people write DIRECTORY PROCESS COUNT PEOPLE    stores events after a line on the standard input
///     FaultHost people erase DIRECTORY USER pipeline|tool      erases the events of one person
///     FaultHost people drain DIRECTORY USER                    takes all events, and counts the ones of a person
///     FaultHost people rotate DIRECTORY                        writes with three keys, and reads with all of them
///     FaultHost people pseudonyms KEY COUNT                    prints the pseudonyms of `person-0` and so on
struct People {
    private let words: [String]

    init(_ arguments: ArraySlice<String>) {
        words = Array(arguments)
    }

    func run() async {
        do {
            switch (words.first, words.count) {
            case ("write", 5): try write(words[1], Int(words[2]) ?? 0, Int(words[3]) ?? 0, Int(words[4]) ?? 1)
            case ("erase", 4): try await erase(words[1], words[2], isTool: words[3] == "tool")
            case ("drain", 3): try drain(words[1], words[2])
            case ("rotate", 2): try rotate(words[1])
            case ("pseudonyms", 3):
                let pseudonyms = Pseudonyms(key: Array(words[1].utf8))
                let texts = (0..<(Int(words[2]) ?? 0)).map { pseudonyms.pseudonym(of: "person-\($0)") }
                System.write(Array((texts.joined(separator: "\n") + "\n").utf8), to: 1)
            default: System.fail("people: write, erase, drain, rotate or pseudonyms?")
            }
        } catch {
            System.fail("\(error)")
        }
    }

    private func say(_ text: String) { System.write(Array("\(text)\n".utf8), to: 1) }

    private func store(_ directory: String, encryption: LineEncryption? = nil) -> JSONLStore {
        JSONLStore(at: directory, capacity: 1 << 30, encryption: encryption)
    }

    private func write(_ directory: String, _ process: Int, _ count: Int, _ people: Int) throws {
        let store = store(directory)
        try store.open()
        say("ready")
        _ = System.nextLine()
        for start in stride(from: 0, to: count, by: 500) {
            let lines = try (start..<min(start + 500, count)).map { number in
                try EventLine(
                    Event(
                        name: "PageView", priority: number % 50 == 0 ? .critical : .normal,
                        distinctID: "person-\((number + process) % people)",
                        properties: [
                            "process": .int(process), "n": .int(number), "path": "/products/shoes", "duration": 12.5,
                        ]))
            }
            let errors = store.append(contentsOf: lines)
            if let error = errors.values.first { throw error }
        }
        store.close()
    }

    private func erase(_ directory: String, _ user: String, isTool: Bool) async throws {
        let begin = ContinuousClock.now
        let report: ErasureReport
        if isTool {
            report = try JSONLStore.erase(at: directory) { $0.belongs(to: user) }
        } else {
            let pipeline = try Pipeline(isDeliveryPaused: true) {
                store(directory)
                RecordingTransport(recorder: Recorder())
            }
            report = await pipeline.erase { $0.belongs(to: user) }
            let ledger = await pipeline.shutdown(timeout: .zero)
            if !ledger.isBalanced { System.fail("the ledger isn't balanced: \(ledger)") }
        }
        let time = Int((ContinuousClock.now - begin) / .milliseconds(1))
        say("erased \(report.events) \(report.deadLetters) \(report.left.count) \(time)")
        for problem in report.left { System.note(problem) }
    }

    private func drain(_ directory: String, _ user: String) throws {
        let store = store(directory)
        let lost = Locked(0)
        try store.open(StoreObserver(onDropped: { count, _ in lost.withLock { $0 += count } }))
        var (events, ofUser, disordered) = (0, 0, 0)
        var last: [PropertyValue: [Event.Priority: Int64]] = [:]
        while let batch = try store.nextBatch(BatchSize(events: 500, bytes: 1 << 20)) {
            for line in batch.events {
                events += 1
                if line.belongs(to: user) { ofUser += 1 }
                let properties = try line.event().properties
                guard let process = properties["process"], case .int(let number) = properties["n"] else { continue }
                if let before = last[process]?[line.priority], before >= number { disordered += 1 }
                last[process, default: [:]][line.priority] = number
            }
            try store.settle(batch.id)
        }
        store.close()
        say("drained \(events) \(ofUser) \(disordered) \(lost.withLock(\.self))")
    }

    /// A toy cipher. Its keys have the ids `1` to `3`.
    private func ring(_ current: String) -> LineEncryption {
        @Sendable func turned(_ bytes: [UInt8], _ id: String?) throws -> [UInt8] {
            guard let id, let key = UInt8(id) else { throw SluiceError(.storageUnavailable, "no key") }
            return bytes.map { $0 ^ key &* 31 }
        }
        return LineEncryption(keyID: current, encrypt: { try turned($0, current) }, decrypt: turned)
    }

    private func rotate(_ directory: String) throws {
        let count = 1_000
        for key in 1...3 {
            let store = store(directory, encryption: ring("\(key)"))
            try store.open()
            for number in 0..<count {
                try store.append(EventLine(Event(name: "Event", properties: ["n": .int((key - 1) * count + number)])))
            }
            store.close()
        }
        let (lines, left) = try JSONLStore.export(at: directory, encryption: ring("3")) { _ in true }
        let numbers = try lines.map { try $0.event().properties["n"] }
        let expected = (0..<3 * count).map { PropertyValue.int($0) }
        say("rotated \(lines.count) \(left.count) \(Set(numbers) == Set(expected) ? "equal" : "different")")
    }
}
