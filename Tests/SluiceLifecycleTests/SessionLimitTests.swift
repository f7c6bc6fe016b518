import SluiceLifecycle
import SluiceTesting
import TestSupport
import Testing

@Suite("Limits of sessions") struct SessionLimitTests {
    @Test(
        "a limit of less than a second is refused when the pipeline is built",
        arguments: [
            (Sessions(.idle(.zero)), false), (Sessions(.idle(.seconds(-60))), false),
            (Sessions(.idle(.milliseconds(999))), false), (Sessions(.automatic(.zero)), false),
            (Sessions(.automatic(.seconds(-1))), false), (Sessions(maximumLength: .zero), false),
            (Sessions(maximumLength: .milliseconds(999)), false), (Sessions(maximumLength: .seconds(-1)), false),
            (Sessions(.idle(.seconds(1))), true), (Sessions(.automatic(.seconds(1))), true),
            (Sessions(.idle(.seconds(Int64.max))), true), (Sessions(.manual), true),
        ])
    func shortLimitsAreRefused(sessions: Sessions, isFine: Bool) throws {
        do {
            _ = try TestPipeline { sessions }
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
