import Sluice
import TestSupport
import Testing

/// Every order of seven plugins gives the events of one table.
@Suite struct PermutationTests {
    /// The number of a story's trials without `SLUICE_TRIALS=full` is a 503rd.
    private static let stride = 503

    @Test(
        "in every order of the lines, a story has the events of the table, with their marks, sessions, durations and users",
        arguments: Story.all.map(\.name))
    func everyOrder(name: String) async throws {
        let story = try #require(Story.all.first { $0.name == name })
        let orders = Line.permutations()
        #expect(orders.count == 5_040)
        var (number, count, failures) = (0, 0, 0)
        for lines in orders {
            for place in CompositionTrial.Place.allCases {
                for (hasConsent, isEarly) in [(true, false), (true, true), (false, false), (false, true)] {
                    number += 1
                    guard Trials.isFull || number % Self.stride == 1 else { continue }
                    let trial = CompositionTrial(
                        story: story, lines: lines, place: place, hasConsent: hasConsent, isEarly: isEarly)
                    do {
                        try await trial.run()
                    } catch {
                        failures += 1
                        if failures <= 5 { Issue.record("\(trial): \(error)") }
                    }
                    count += 1
                    if count % 5_000 == 0 { Trials.report("\(name): \(count) trials, \(failures) failed so far") }
                }
            }
        }
        #expect(failures == 0)
        Trials.report("permutations, \(name): \(count) trials, \(failures) failed")
    }
}
