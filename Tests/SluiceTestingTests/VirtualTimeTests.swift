import SluiceTesting
import Testing

@Suite struct VirtualTimeTests {
    @Test("clocks stand still until they are moved")
    func clocksStandStillUntilMoved() {
        let time = VirtualTime(wallTime: Timestamp(milliseconds: 1_000))
        time.advance(by: .milliseconds(1_500))
        #expect(time.wallTime() == Timestamp(milliseconds: 2_500))
        #expect(time.continuousTime() == .milliseconds(1_500))
        #expect(time.suspendingTime() == .milliseconds(1_500))
    }

    @Test("the suspending clock stands still while the machine sleeps, and setting the wall clock moves only it")
    func clocksAreIndependent() {
        let time = VirtualTime(wallTime: Timestamp(milliseconds: 0))
        time.suspendMachine(for: .seconds(60))
        time.setWallTime(Timestamp(milliseconds: -5))
        #expect(time.continuousTime() == .seconds(60))
        #expect(time.suspendingTime() == .zero)
        #expect(time.wallTime() == Timestamp(milliseconds: -5))
    }

    @Test("sleepers wake at their deadlines, and not before")
    func sleepersWakeAtTheirDeadlines() async throws {
        let time = VirtualTime()
        let sleeper = Task { try await time.sleep(until: .seconds(10)) }
        await time.waitForSleeper()
        time.advance(by: .seconds(9))
        #expect(time.deadlines == [.seconds(10)])
        time.advanceToNextSleeper()
        try await sleeper.value
        #expect(time.continuousTime() == .seconds(10))
        #expect(time.deadlines.isEmpty)
    }

    @Test("a sleep until a deadline that has passed returns immediately")
    func passedDeadlineReturnsImmediately() async throws { try await VirtualTime().sleep(until: .zero) }

    @Test("a cancelled sleep ends immediately, whenever the cancellation comes", arguments: 0..<50)
    func cancelledSleepEndsImmediately(round: Int) async {
        let time = VirtualTime()
        let sleeper = Task { try await time.sleep(until: .seconds(10)) }
        if round.isMultiple(of: 2) { await time.waitForSleeper() }
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        #expect(time.deadlines.isEmpty)
    }

    @Test("seeded randomness repeats itself")
    func seededRandomnessRepeats() {
        var one = SeededRandom(seed: 7)
        var other = SeededRandom(seed: 7)
        var third = SeededRandom(seed: 8)
        let numbers = (0..<10).map { _ in one.next() }
        #expect(numbers == (0..<10).map { _ in other.next() })
        #expect(numbers != (0..<10).map { _ in third.next() })
        #expect(Set(numbers).count == 10)
        // The generator's published first output for seed 1234567.
        var published = SeededRandom(seed: 1_234_567)
        #expect(published.next() == 6_457_827_717_110_365_317)
    }
}
