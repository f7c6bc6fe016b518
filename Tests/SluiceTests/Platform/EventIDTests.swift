import SluiceTesting
import TestSupport
import Testing

@testable import Sluice

@Suite struct EventIDTests {
    private func ids(
        _ count: Int, _ generator: inout EventIDGenerator, at milliseconds: Int64, seed: UInt64 = 1
    ) -> [EventID] {
        let random = Locked(SeededRandom(seed: seed &+ UInt64(bitPattern: milliseconds)))
        let environment = PipelineEnvironment(random: { random.withLock { $0.next() } })
        return (0..<count).map { _ in generator.next(at: Timestamp(milliseconds: milliseconds), in: environment) }
    }

    @Test("the bits follow RFC 9562", arguments: [UInt64.min, .max, 0x5555_5555_5555_5555, 0xAAAA_AAAA_AAAA_AAAA])
    func bitsFollowRFC9562(random: UInt64) {
        var generator = EventIDGenerator()
        let environment = PipelineEnvironment(random: { random })
        let id = generator.next(at: Timestamp(milliseconds: 0x0123_4567_89AB), in: environment)
        #expect(id.high >> 16 == 0x0123_4567_89AB)
        #expect(id.high >> 12 & 0xF == 7)
        #expect(id.high & 0xFFF == random & 0x7FF)
        #expect(id.low >> 62 == 0b10)
        #expect(id.low << 2 == random & ~3)
        let text = Array(id.description)
        #expect(text[14] == "7")
        #expect("89ab".contains(text[19]))
    }

    @Test("ids of one millisecond differ in all random bits, also in the last ones", arguments: UInt64(0)..<20)
    func randomBitsDiffer(seed: UInt64) {
        var generator = EventIDGenerator()
        let ids = ids(2_000, &generator, at: 1_000_000, seed: seed)
        #expect(Set(ids.map(\.low)).count == ids.count)
        for bit in UInt64(0)..<62 {
            let ones = ids.count { $0.low >> bit & 1 == 1 }
            #expect((850...1_150).contains(ones), "bit \(bit) is set in \(ones) of 2,000 ids")
        }
    }

    @Test("a block of random numbers is drawn when the last one is used up, and each number is in one id")
    func randomNumbersAreUsedOnce() {
        var generator = EventIDGenerator()
        let drawn = Locked<UInt64>(0)
        let environment = PipelineEnvironment(random: {
            drawn.withLock { drawn in
                drawn += 1
                return drawn << 2
            }
        })
        let ids = (0..<100).map { _ in generator.next(at: Timestamp(milliseconds: 1_000_000), in: environment) }
        // One number is for the counter, so 101 numbers are used, of 4 blocks of 32.
        #expect(drawn.withLock(\.self) == 128)
        #expect(Set(ids.map(\.low)).count == 100)
        #expect(ids.allSatisfy { 1...128 ~= $0.low & (1 << 62 - 1) })
    }

    @Test("ids have the random numbers of the environment, and are the same for the same numbers")
    func idsHaveNumbersOfEnvironment() throws {
        func ids(seed: UInt64) throws -> [EventID] {
            let pipeline = try Pipeline.with(environment: .virtual(VirtualTime(), seed: seed))
            return (0..<100).map { _ in pipeline.track("e") }
        }
        #expect(try ids(seed: 1) == ids(seed: 1))
        #expect(try Set(ids(seed: 1).map(\.low)).isDisjoint(with: ids(seed: 2).map(\.low)))
    }

    @Test("the system's random numbers differ in all bits")
    func systemNumbersDiffer() {
        let words = (0..<100).flatMap { _ in PipelineEnvironment().randomBlock() }
        #expect(Set(words).count == 3_200)
        for bit in UInt64(0)..<64 {
            #expect((1_350...1_850).contains(words.count { $0 >> bit & 1 == 1 }))
        }
    }

    @Test("an id that a host makes has the time and a version, and differs from others")
    func madeIDsDiffer() {
        let time = Timestamp(milliseconds: 1_700_000_000_123)
        let ids = (0..<1_000).map { _ in EventID.make(at: time) }
        #expect(Set(ids.map(\.low)).count == 1_000)
        #expect(ids.allSatisfy { $0.time == time && $0.low >> 62 == 0b10 })
        #expect(EventID.make(at: .now).time.map { $0 > time } == true)
    }

    @Test("ids ascend within one millisecond and when the clock is set back a little", arguments: [0, 1, 5_000, 9_990])
    func idsAscend(step: Int64) {
        var generator = EventIDGenerator()
        let ids = ids(1_000, &generator, at: 1_000_000) + ids(20_000, &generator, at: 1_000_000 - step)
        #expect(ids == ids.sorted())
        let texts = ids.map(\.description)
        #expect(texts == texts.sorted() && Set(texts).count == ids.count)
    }

    @Test("a clock that is set far back is followed", arguments: [10_001, 86_400_000])
    func clockSetFarBackIsFollowed(step: Int64) throws {
        var generator = EventIDGenerator()
        _ = ids(1, &generator, at: 1_000_000_000)
        let id = try #require(ids(1, &generator, at: 1_000_000_000 - step).first)
        #expect(id.high >> 16 == UInt64(1_000_000_000 - step))
    }

    @Test("any wall time gives ids", arguments: [Int64.min, -1, 0, 1 << 48 - 1, 1 << 48, .max])
    func anyWallTimeGivesIDs(milliseconds: Int64) {
        var generator = EventIDGenerator()
        let ids = ids(10_000, &generator, at: milliseconds)
        #expect(Set(ids).count == ids.count)
        #expect(ids.allSatisfy { $0.high >> 12 & 0xF == 7 && $0.low >> 62 == 0b10 })
    }

    @Test("a hundred thousand ids from eight threads are unique, and ascend for each thread")
    func concurrentIDsAreUniqueAndAscend() async throws {
        let perThread = 12_500
        let pipeline = try Pipeline.with(environment: .virtual(VirtualTime(), seed: 1))
        pipeline.pauseDelivery()
        let ids = await withTaskGroup(of: [EventID].self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var ids: [EventID] = []
                    for _ in 0..<perThread {
                        pipeline.track("e") { ids.append($0.id) }
                    }
                    return ids
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(ids.allSatisfy { $0 == $0.sorted() })
        #expect(Set(ids.joined()).count == 8 * perThread)
    }
}
