import SluiceFilters
import SluiceTesting
import TestSupport
import Testing

@Suite struct DeduplicationTests {
    private let time = VirtualTime()

    @Test("an equal event within the window is a duplicate, and doesn't extend the window")
    func equalEventsInWindowAreDuplicates() async throws {
        let test = try TestPipeline(time: time) { Deduplication(within: .seconds(2)) }
        for number in 0..<6 {
            test.pipeline.track("Tap", ["a": 1, "b": "x"])
            test.pipeline.track("Tap", ["b": "x", "a": 1])
            test.pipeline.track("Other", ["number": .int(number)])
            time.advance(by: .seconds(1))
        }
        #expect(await test.events().filter { $0.name == "Tap" }.count == 3)
        #expect(test.pipeline.ledger.dropped == [.duplicate: 9])
    }

    private static let lists: [Properties] = [
        [:], ["a": 1], ["a": "1"], ["a": 1.0], ["a": true], ["a": nil], ["a": ""], ["b": 1], ["a": [1]],
        ["a": ["a": 1]], ["a": []], ["a": [:]], ["a": ["a": 1, "b": 2]], ["a": [[1], 2]], ["a": [1, [2]]],
        ["a": .date(Timestamp(milliseconds: 1))], ["a": 1, "b": 1], ["ab": ""], ["a": "b"],
    ]

    @Test("an event with another name, type, value or id is not a duplicate", arguments: lists)
    func differentEventsAreNotDuplicates(properties: Properties) {
        let filter = Deduplication(within: .seconds(1))
        #expect(filter.processed("Event", properties) != nil)
        #expect(filter.processed("Event", properties) == nil)
        for other in Self.lists where other != properties { #expect(filter.processed("Event", other) != nil) }
        #expect(filter.processed("Event2", properties) != nil)
        // The last two look the same, and ids and values are compared by their bytes.
        for id in ["x", "y", "\u{212B}1", "\u{C5}1"] {
            #expect(filter.processed("Event", properties, configure: { $0.distinctID = id }) != nil)
            for value in [.string(id), [1, .string(id)], ["crm": .string(id)]] as [PropertyValue] {
                #expect(filter.processed("Event", properties + ["$id_value": value]) != nil)
                #expect(filter.processed("Event", ["$id_value": value] + properties) == nil)
            }
        }
    }

    @Test("the last 1,024 events are remembered")
    func lastEventsAreRemembered() {
        let filter = Deduplication(within: .seconds(1_000))
        for number in 0...1_024 { _ = filter.processed("\(number)") }
        #expect(filter.processed("1") == nil)
        #expect(filter.processed("0") != nil)
    }
}
