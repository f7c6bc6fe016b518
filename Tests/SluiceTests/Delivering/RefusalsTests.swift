import SluiceTesting
import Testing

@testable import Sluice
@testable import SluiceDelivery

@Suite struct RefusalsTests {
    private static func line(_ number: Int) -> EventLine {
        let id = EventID(high: 0x0190_0000_0000_7000, low: 0x8000_0000_0000_0000 | UInt64(number))
        return EventLine(bytes: ArraySlice(#"{"id":"\#(id)"}"#.utf8), priority: .normal)
    }

    private static func refused(_ numbers: Range<Int>, isRefusal: Bool = true) -> SendResult {
        var result = SendResult()
        result.rejected = numbers.map { .init(line: line($0), place: $0, reason: "no", isRefusal: isRefusal) }
        return result
    }

    private static var accepted: SendResult {
        var result = SendResult()
        result.acceptedPlaces = [0]
        return result
    }

    private static func letters(_ rows: [Int]) -> [DeadLetter] {
        rows.enumerated().map { index, row in
            DeadLetter(
                id: UInt64(index), line: line(index), reason: "no",
                date: Timestamp(milliseconds: 0), refusalsInARow: row)
        }
    }

    /// The macro can't call mutating methods.
    private func record(
        _ result: SendResult, _ refusals: inout Refusals
    ) -> (rejected: [RejectedEvent], mustReplay: Bool) {
        refusals.record(result)
    }

    @Test("20 refusals in a row are a hold, however they are spread over attempts", arguments: [1, 5, 19, 20])
    func twentyRefusalsHold(step: Int) {
        var refusals = Refusals()
        var count = 0
        while count + step < 20 {
            _ = refusals.record(Self.refused(count..<count + step))
            count += step
            #expect(!refusals.isHolding)
        }
        _ = refusals.record(Self.refused(count..<count + step))
        #expect(refusals.isHolding)
    }

    @Test("a search sends one batch at a time, until the receiver has accepted others beside a bad event")
    func searchIsAlone() {
        var refusals = Refusals()
        var answered = SendResult()
        (answered.effect, answered.isSuspected) = (.hold, true)
        _ = refusals.record(answered)
        #expect(refusals.isAlone)
        _ = refusals.record(Self.accepted, hasSuspects: true)
        #expect(refusals.stage.mode == .searching)
        #expect(refusals.isAlone)
        var confirmed = Self.accepted
        confirmed.isConfirmed = true
        _ = refusals.record(confirmed)
        #expect(refusals.stage.mode == .searching)
        #expect(!refusals.isAlone)
    }

    @Test("refused events get their place in the row")
    func eventsGetTheirPlace() {
        var refusals = Refusals()
        #expect(record(Self.refused(0..<3), &refusals).rejected.map(\.refusalsInARow) == [1, 2, 3])
        #expect(record(Self.refused(3..<4), &refusals).rejected.map(\.refusalsInARow) == [4])
        _ = refusals.record(Self.accepted)
        #expect(record(Self.refused(4..<5), &refusals).rejected.map(\.refusalsInARow) == [1])
    }

    @Test("an acceptance in the same response takes refused events out of the row")
    func acceptanceEndsRow() {
        var refusals = Refusals()
        _ = refusals.record(Self.refused(0..<19))
        var mixed = Self.refused(19..<30)
        mixed.acceptedPlaces = [0]
        #expect(record(mixed, &refusals).rejected.allSatisfy { $0.refusalsInARow == 0 })
        #expect(refusals.inARow == 0)
    }

    @Test("events that could not be sent are not refusals")
    func unsendableEventsAreNoRefusals() {
        var refusals = Refusals()
        #expect(
            record(Self.refused(0..<100, isRefusal: false), &refusals).rejected.allSatisfy { $0.refusalsInARow == 0 })
        #expect(!refusals.isHolding)
    }

    @Test("after a hold the next acceptance puts back, once; without a hold nothing is put back")
    func acceptancePutsBackAfterHold() {
        var refusals = Refusals()
        _ = refusals.record(Self.refused(0..<19))
        #expect(!record(Self.accepted, &refusals).mustReplay)
        _ = refusals.record(Self.refused(0..<20))
        #expect(record(Self.accepted, &refusals).mustReplay)
        #expect(!record(Self.accepted, &refusals).mustReplay)
    }

    @Test("only the dead letters of long rows are put back, and each of them once")
    func longRowsArePutBackOnce() {
        // Two short rows, events that were never sent, a long row with one of those, and the start of another row.
        let letters = Self.letters([1, 2, 1, 0, 0] + Array(1...10) + [0] + Array(11...25) + [1, 2])
        var refusals = Refusals()
        let ids = refusals.lettersToReplay(from: letters)
        #expect(ids.sorted() == Array(5...14) + Array(16...30))
        let again = refusals.lettersToReplay(from: letters)
        #expect(again.isEmpty)
        // Refused a second time, they are outside of any row.
        #expect(record(Self.refused(5..<8), &refusals).rejected.map(\.refusalsInARow) == [0, 0, 0])
        #expect(refusals.inARow == 3)
    }

    @Test("a long row is put back whole if several batches in flight stored it in another order")
    func longRowInAnotherOrder() {
        let letters = Self.letters([1, 1, 2] + Array(11...20) + Array(3...10) + [1, 2])
        var refusals = Refusals()
        #expect(refusals.lettersToReplay(from: letters).sorted() == Array(1...20))
    }

    @Test("a row goes on after a restart, but only refusals of this process put the route on hold")
    func rowGoesOnAfterRestart() {
        var refusals = Refusals()
        refusals.start(with: Self.letters(Array(1...15)))
        #expect(!refusals.isHolding)
        let recorded = refusals.record(Self.refused(100..<105))
        #expect(recorded.rejected.map(\.refusalsInARow) == [16, 17, 18, 19, 20])
        #expect(!refusals.isHolding)
        #expect(record(Self.accepted, &refusals).mustReplay)
    }

    @Test("a long row that an earlier process left is put back after the first acceptance")
    func longRowOfEarlierProcess() {
        var refusals = Refusals()
        refusals.start(with: Self.letters(Array(1...30) + [0]))
        #expect(record(Self.accepted, &refusals).mustReplay)
    }

    @Test(
        "a short row with which an earlier process ended is put back once, because nothing shows that it was accepted after"
    )
    func lastRowOfEarlierProcess() {
        var refusals = Refusals()
        let letters = Self.letters([1, 2, 1, 2, 3])
        refusals.start(with: letters)
        #expect(record(Self.accepted, &refusals).mustReplay)
        #expect(refusals.lettersToReplay(from: letters) == [2, 3, 4])
        #expect(refusals.lettersToReplay(from: letters).isEmpty)
        #expect(record(Self.refused(2..<3), &refusals).rejected.map(\.refusalsInARow) == [0])
    }

    @Test("a row that ends with the last event is put back by the first acceptance ever, and by no later one")
    func rowWithoutAnyAcceptance() {
        var refusals = Refusals()
        _ = refusals.record(Self.refused(0..<3))
        refusals.nothingWaits()
        #expect(record(Self.accepted, &refusals).mustReplay)
        #expect(refusals.lettersToReplay(from: Self.letters([1, 2, 3])) == [0, 1, 2])
        _ = refusals.record(Self.refused(3..<6))
        refusals.nothingWaits()
        #expect(!record(Self.accepted, &refusals).mustReplay)
    }
}
