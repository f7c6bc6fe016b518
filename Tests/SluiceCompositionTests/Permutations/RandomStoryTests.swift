import Sluice
import TestSupport
import Testing

/// Random stories of an app: random orders and places of the plugins, verbs before and after the build, signals also
/// repeated and late, logins, answers of the user, kills and orderly ends with relaunches.
///
/// In each of them:
///
/// 1. A view lies between the start and the end of the app.
/// 2. Each activation has one `$AppStart`, and each `$AppEnd` has the duration of its activation.
/// 3. No screen and no timer counts the background or a passive launch.
/// 4. The host's events have a session, unless the process terminates. A session has one id and one index, begins once
///    and ends once. After an orderly end, each session has ended.
/// 5. A login under a new anonymous id reaches each route that may know it, once.
/// 6. Without consent, no event arrives and no state of the consent's chain is on disk. Held events arrive with a grant.
/// 7. `$recovered` is only on `$AppEnd` and `$SessionEnd` after a kill, and a recovered session is one of the killed launch.
/// 8. Nothing of a plugin of the second route is in the first one.
/// 9. The host's events have the mark of a passive launch, from the signal until the app is active.
/// 10. Each event of the host arrives once in each route with consent. No id comes twice, and ledgers are balanced.
@Suite struct RandomStoryTests {
    private static let parts = 4

    @Test("random stories keep the ten invariants", arguments: 0..<parts)
    func randomStories(part: Int) async {
        let count = Trials.count(full: 100_000, few: 400) / Self.parts
        var (steps, failures) = (0, 0)
        for trial in 0..<count {
            let seed = UInt64(part * count + trial)
            var story = RandomStory(seed: seed)
            do {
                try await story.run()
            } catch {
                failures += 1
                if failures <= 5 { Issue.record("seed \(seed): \(error) \(story)") }
            }
            steps += story.steps
            if trial % 2_500 == 2_499 { Trials.report("part \(part): \(trial + 1) stories, \(failures) failed so far") }
        }
        #expect(failures == 0)
        Trials.report("random stories, part \(part): \(count) stories, \(steps) steps, \(failures) failed")
    }
}
