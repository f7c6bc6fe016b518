import Sluice
import SluiceLifecycle
import SluiceTesting
import TestSupport
import Testing

/// Sessions that an idle limit or the host ends.
@Suite struct SessionModeTests {
    private let time = VirtualTime()

    private func launch(_ mode: Sessions.Mode) throws -> (Sessions, TestPipeline) {
        let sessions = Sessions(mode)
        return (sessions, try TestPipeline(time: time) { sessions })
    }

    private func pass(_ seconds: Double) { time.advance(by: .seconds(seconds)) }

    @Test("after an idle limit the next event begins a session, whose start comes before it")
    func idleLimitEndsSession() async throws {
        let (_, test) = try launch(.idle(.seconds(60)))
        test.pipeline.track("A")
        pass(59)
        test.pipeline.track("B")
        pass(60)
        test.pipeline.track("C")
        #expect(
            await test.story() == ["$SessionStart 1", "A 1", "B 1", "$SessionEnd 1 59.0s", "$SessionStart 2", "C 2"])
    }

    @Test("a manual session begins and ends only by the host's calls")
    func manualSessionFollowsHost() async throws {
        let (sessions, test) = try launch(.manual)
        test.pipeline.signal(.launched(.foreground))
        test.pipeline.signal(.didBecomeActive)
        test.pipeline.track("None")
        sessions.start()
        test.pipeline.signal(.didEnterBackground)
        pass(3_600)
        test.pipeline.signal(.didBecomeActive)
        test.pipeline.track("First")
        sessions.start()
        test.pipeline.track("Second")
        sessions.end()
        sessions.end()
        test.pipeline.track("None again")
        #expect(sessions.id == nil)
        #expect(
            await test.story() == [
                "None", "$SessionStart 1", "First 1", "$SessionEnd 1 3600.0s", "$SessionStart 2", "Second 2",
                "$SessionEnd 2 0.0s", "None again",
            ])
    }

    @Test(
        "a limit of less than a second is refused when the pipeline is built",
        arguments: [
            (Sessions.Mode.idle(.zero), false), (.idle(.seconds(-60)), false), (.idle(.milliseconds(999)), false),
            (.automatic(.zero), false), (.automatic(.seconds(-1)), false), (.idle(.seconds(1)), true),
            (.automatic(.seconds(1)), true), (.idle(.seconds(Int64.max)), true), (.manual, true),
        ])
    func shortLimitsAreRefused(mode: Sessions.Mode, isFine: Bool) throws {
        do {
            _ = try TestPipeline { Sessions(mode) }
            #expect(isFine)
        } catch let error as SluiceError {
            #expect(error.code == .invalidArgument && !isFine)
        }
    }
}

extension TestPipeline {
    /// The stories of all events.
    func story() async -> [String] { await events().map(\.story) }
}

extension Event {
    /// Its name with the index of its session; durations of ends in seconds.
    var story: String {
        var text = name
        if case .int(let index) = properties["$session_index"] { text += " \(index)" }
        if case .double(let duration) = properties["$event_duration"] { text += " \(duration / 1_000)s" }
        return text
    }
}
