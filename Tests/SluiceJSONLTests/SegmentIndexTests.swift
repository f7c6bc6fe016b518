import Sluice
import SluiceTesting
import Testing

@testable import SluiceJSONL

/// The index alone, without a disk.
struct SegmentIndexTests {
    private func segment(
        _ sequence: UInt64, _ lane: Lane = .normal, created: Int64 = 1, in directory: String = "a",
        bytes: Int = 100
    ) -> Segment {
        let name = SegmentName(lane, sequence: sequence, created: Timestamp(milliseconds: created))
        return Segment(
            name, created: .zero, in: directory, at: "\(directory)/\(name.text)", fileBytes: bytes)
    }

    /// The same results as the index, without its speed.
    private struct Model {
        var waiting: [Segment] = []
        var handedOut: [Segment] = []
        /// Retired, with files that still exist.
        var retired: [Segment] = []
        var unreadable: [Segment] = []

        func first(_ lane: Lane) -> Segment? {
            waiting.filter { $0.lane == lane }.min { $0.precedes($1) }
        }

        func firstUnreadable(_ lane: Lane) -> Segment? {
            unreadable.filter { $0.lane == lane }.min { $0.precedes($1) }
        }

        func usage(ofEvents: Bool) -> Usage {
            var usage = Usage()
            for segment in waiting + handedOut where segment.lane.holdsEvents == ofEvents {
                usage.count += segment.count ?? 0
                usage.eventBytes += segment.eventBytes
                if segment.count == nil { usage.unreadBytes += segment.fileBytes }
            }
            for segment in waiting + handedOut + retired + unreadable where segment.lane.holdsEvents == ofEvents {
                usage.fileBytes += segment.fileBytes
            }
            return usage
        }

        func evictableBytes(_ lane: Lane) -> Int {
            (waiting + unreadable).filter { $0.lane == lane }.reduce(0) { $0 + $1.fileBytes }
        }
    }

    @Test("after any operations, order and sizes are those of a naive model", arguments: 0..<50)
    func matchesNaiveModel(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var index = SegmentIndex()
        var model = Model()
        for _ in 0..<400 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0, 1, 2:
                // Sequence numbers of processes side by side collide; the directory then decides.
                let new = segment(
                    .random(in: 0..<60, using: &random), Lane.allCases.randomElement(using: &random) ?? .normal,
                    in: ["a", "b", "c"].randomElement(using: &random) ?? "a",
                    bytes: .random(in: 1..<1_000, using: &random))
                let known = model.waiting + model.handedOut + model.unreadable
                guard !known.contains(where: { $0.path == new.path }) else { continue }
                index.insertSorted(new)
                model.waiting.append(new)
            case 3:
                guard let chosen = index.firstWaiting(Lane.allCases.randomElement(using: &random) ?? .normal)
                else { continue }
                index.handOut(chosen)
                model.waiting.removeAll { $0 === chosen }
                model.handedOut.append(chosen)
            case 4:
                guard let chosen = model.handedOut.randomElement(using: &random) else { continue }
                index.takeBack(chosen)
                model.handedOut.removeAll { $0 === chosen }
                model.waiting.append(chosen)
            case 5:
                guard let chosen = (model.waiting + model.handedOut).randomElement(using: &random) else { continue }
                index.setContents(
                    of: chosen, count: .random(in: 0..<50, using: &random),
                    eventBytes: .random(in: 0..<5_000, using: &random))
            case 6:
                guard let chosen = (model.waiting + model.handedOut).randomElement(using: &random) else { continue }
                index.retire(chosen)
                model.waiting.removeAll { $0 === chosen }
                model.handedOut.removeAll { $0 === chosen }
                model.retired.append(chosen)
            case 7:
                guard let chosen = model.retired.popLast() else { continue }
                index.subtractFromUsage(chosen)
            case 8:
                guard let chosen = model.waiting.randomElement(using: &random) else { continue }
                index.giveUp(chosen)
                model.waiting.removeAll { $0 === chosen }
                model.unreadable.append(chosen)
            default:
                let lane = Lane.allCases.randomElement(using: &random) ?? .normal
                let expected = model.firstUnreadable(lane) ?? model.first(lane)
                #expect(index.firstEvictable(lane) === expected)
                guard let chosen = model.unreadable.randomElement(using: &random) else { continue }
                index.takeBack(chosen)
                model.unreadable.removeAll { $0 === chosen }
                model.waiting.append(chosen)
            }
            #expect(Set(index.unreadable.map(\.path)) == Set(model.unreadable.map(\.path)))
            #expect(index.events == model.usage(ofEvents: true))
            #expect(index.deadLetters == model.usage(ofEvents: false))
            for lane in Lane.allCases {
                #expect(index.firstWaiting(lane) === model.first(lane))
                let evictable = model.evictableBytes(lane)
                #expect(index.evictableBytes(lane, upTo: .max) == evictable)
                #expect((index.evictableBytes(lane, upTo: 1_000) >= 1_000) == (evictable >= 1_000))
            }
        }
        for lane in Lane.allCases {
            let expected = (model.waiting + model.handedOut + model.unreadable).filter { $0.lane == lane }
                .sorted { $0.precedes($1) }
            #expect(index.segments.filter { $0.lane == lane }.map(\.path) == expected.map(\.path))
        }
    }

    /// The index above orders them by this rule, whatever the order of insertion is.
    @Test("segments are delivered by sequence, then by time, then by directory")
    func ordersSegments() {
        let expected = [segment(1), segment(2), segment(2, in: "b"), segment(2, created: 2), segment(3, created: 0)]
        for (position, segment) in expected.enumerated() {
            #expect(expected.map { $0.precedes(segment) } == expected.indices.map { $0 < position })
        }
    }
}
