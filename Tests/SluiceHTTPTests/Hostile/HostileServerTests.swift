import Sluice
import TestSupport
import Testing

@testable import SluiceHTTP

@Suite("Hostile servers", .serialized, .ownThread)
struct HostileServerTests {
    @Test("no event is lost, and the response is read correctly", arguments: Attack.all)
    func attackLosesNothing(attack: Attack) async throws {
        var trial = HostileTrial()
        let trials = Trials.count(full: 50, few: 1)
        for number in 0..<trials { try await trial.run(attack, number) }
        Trials.report(
            "hostile, \(attack.testDescription): \(trials) trials, \(trial.events) events, \(trial.again) again")
    }

    @Test("no status loses an event")
    func statusLosesNothing() async throws {
        var trial = HostileTrial()
        let trials = Trials.count(full: 50, few: 1)
        for attack in Attack.statuses {
            for number in 0..<trials { try await trial.run(attack, number) }
        }
        Trials.report("hostile, every status: \(trials) trials each, \(trial.events) events, \(trial.again) again")
    }
}
